"""Section "Memory": a layer in training, with all copies, and the KV cache in decoding."""

from dataclasses import dataclass

from fp8core.costs import code_bytes, copy_cost, scale_bytes
from fp8core.formats import FORMATS
from fp8core.linear import FPROP, WGRAD, LayerShape, LayerTensor, Side
from fp8core.recipes import Operand, Recipe
from pages.kit.charts.bars import Bar, bars
from pages.kit.charts.words import bytes_text, count
from pages.kit.controls import Controls
from pages.kit.shared_controls import GPU, by_family, card
from pages.kit.tables import grid
from pages.kit.view import draw_chart, draw_notice, here, page_ink, room
from pages.kit.widgets import Choice, Select, Settings, Whole
from pages.why_fp8.controls import CONTEXT, IN, MODEL, OUT, TOKENS, context_of, layer_of, model_of
from pages.why_fp8.sourced import Measurement, Model, draw_sources, links, sourced

FORWARD, BACKWARD, INFERENCE, CACHE = "forward", "backward", "inference", "cache"
MOMENT = Select(
    key="why_moment",
    label="What lies in memory",
    options={FORWARD: "After forward", BACKWARD: "In backward", INFERENCE: "Inference", CACHE: "KV cache"},
)
BF16, FP8, NO_MASTER = "bf16", "e4m3", "none"
WEIGHTS = Choice(
    key="why_weights",
    label="Weights of the model",
    options={BF16: "bf16", "fp32": "fp32", NO_MASTER: "quantized only"},
    help="The copy that the optimizer's step changes, where the model itself keeps one.",
)
BATCH = Whole(
    key="why_batch",
    label="Sequences at once",
    low=1,
    high=1024,
    default=16,
    help="All of them read the same weights, and each reads a cache of its own.",
)
OWN_CONTROLS = (MOMENT, WEIGHTS, BATCH)


def show(controls: Controls) -> None:
    if controls.draw(MOMENT, here().control) == CACHE:
        _show_cache(controls)
    else:
        _show_layer(controls)


LAYER_IDEA = (
    "Half the bits should be half the memory. **Training is different.** The optimizer changes a weight of "
    "many bits, so that one stays. Beside it lie the quantized copies: one tiled for Fprop, one for the "
    "backward pass. The output y is bf16 as before. Only x, which waits for Wgrad, is smaller."
)
WEIGHT, COPIES, INPUT, GRADIENT, RESULT = (
    "weight to update",
    "weight to multiply",
    "x for Wgrad",
    "dy and its copies",
    "y",
)
# The pieces, and the words inside their bars.
SHORT = {WEIGHT: "w", COPIES: "w's copy", INPUT: "x", GRADIENT: "dy", RESULT: "y"}
MIB = 1 << 20
_MOMENTS = {
    FORWARD: "After the forward pass, with w, its copy, x and y",
    BACKWARD: "In the backward pass, with w, dy, their copies and x",
    INFERENCE: "In inference, with w and y",
}
_CHECKS = ("layer of the source", "measured there", "counted here", "apart")


def _show_layer(controls: Controls) -> None:
    know = here().know
    controls.draw(TOKENS)
    if controls.value(MOMENT) != INFERENCE:
        controls.draw(WEIGHTS)
    for control in (IN, OUT):
        controls.draw(control)
    settings = controls.values()
    over_bf16 = ratios(settings)
    least = min(list(over_bf16)[1:], key=over_bf16.__getitem__)
    draw_notice(
        f"{_MOMENTS[settings[MOMENT.key]]} all counted, the smallest recipe, {least}, takes "
        f"**{over_bf16[least]:.2f} times the memory of bf16.**"
    )
    lines = [
        Bar(
            name=name,
            pieces={piece: amount / MIB for piece, amount in pieces.items()},
            label=f"{bytes_text(sum(pieces.values()))}, {over_bf16[name]:.2f}×",
        )
        for name, pieces in footprints(settings).items()
    ]
    draw_chart(
        bars(lines, SHORT, "MiB of one linear layer", room(), page_ink()),
        key="why_memory",
        alt="Memory of one linear layer: " + "; ".join(f"{line.name} {line.label}" for line in lines),
    )
    know.markdown(LAYER_IDEA)
    layer = layer_of(settings)
    know.markdown(
        f"{count(layer.tokens, 'token')}, a weight of {layer.out:,} × {layer.in_:,}. With more tokens x "
        "and y weigh more, and the copies of w less. Copies and layouts follow from each recipe, as the page "
        "Tile layouts counts them. Hopper needs every operand contiguous along K. The backward pass keeps "
        "all copies of w and dy at once. The optimizer's own state, two moments and often an fp32 weight, is "
        "as large as in bf16, and left out."
    )
    know.markdown("**Does this sum agree with a measurement?**")
    checks = [
        (one.name, f"{one.mib:.2f} MiB", f"{own_mib:.2f} MiB", f"{one.mib / own_mib - 1:+.1%}")
        for one in sourced().measured
        for own_mib in [counted_mib(one)]
    ]
    know.html(grid(_CHECKS, checks, page_ink()))
    draw_sources(links(sourced().measured), know)


def first_recipes() -> list[Recipe]:
    return [recipes[0] for recipes in by_family().values()]


def footprints(settings: Settings) -> dict[str, dict[str, int]]:
    layer, moment, weights = layer_of(settings), settings[MOMENT.key], settings[WEIGHTS.key]
    recipes = {BF16: None, **{recipe.title: recipe for recipe in first_recipes()}}
    return {name: footprint(recipe, layer, moment, weights) for name, recipe in recipes.items()}


def ratios(settings: Settings) -> dict[str, float]:
    sizes = {name: sum(pieces.values()) for name, pieces in footprints(settings).items()}
    return {name: size / sizes[BF16] for name, size in sizes.items()}


def footprint(recipe: Recipe | None, layer: LayerShape, moment: str, weights: str) -> dict[str, int]:
    """Bytes by piece; a recipe of None is bf16. `weights` is the format of the weight that is updated.

    After the forward pass there are w's copy for Fprop, x's copy for Wgrad, and y in bf16. In the backward
    pass there are dy and all copies of w and dy, and no y. Inference keeps no weight to update and no x.
    """

    def plain(tensor: LayerTensor, format_: str = BF16) -> int:
        rows, columns = layer.of(tensor)
        return rows * columns * FORMATS[format_].packed_bits // 8

    def read(operand: Operand | None, tensor: LayerTensor) -> int:
        shape = layer.of(tensor)
        return code_bytes(operand, shape) + scale_bytes(operand, shape) if operand else plain(tensor)

    def copies(tensor: LayerTensor) -> int:
        costs = [copy_cost(copy, layer) for copy in recipe.quantized_copies(tensor)] if recipe else []
        return sum(cost.code_bytes + cost.scale_bytes for cost in costs)

    w, x = (recipe.operand(matmul, Side.B) if recipe else None for matmul in (FPROP, WGRAD))
    keeps_w = moment != INFERENCE and weights != NO_MASTER
    is_multiplied = recipe is None and keeps_w and weights == BF16  # a bf16 weight is multiplied as it is
    copy = copies(LayerTensor.W) if w and moment == BACKWARD else read(w, LayerTensor.W)
    return {
        WEIGHT: plain(LayerTensor.W, weights) if keeps_w else 0,
        COPIES: 0 if is_multiplied else copy,
        INPUT: 0 if moment == INFERENCE else read(x and (x.saved or x), LayerTensor.X),
        GRADIENT: plain(LayerTensor.DY) + copies(LayerTensor.DY) if moment == BACKWARD else 0,
        RESULT: 0 if moment == BACKWARD else plain(LayerTensor.Y),
    }


def counted_mib(one: Measurement) -> float:
    """The page's own sum for a measured case; the first recipe has a scale a tensor, as there."""
    recipe = first_recipes()[0] if one.quantized else None
    layer = LayerShape(one.tokens, one.in_, one.out)
    return sum(footprint(recipe, layer, one.moment, one.weights).values()) / MIB


CACHE_IDEA = (
    "A model that writes text makes one token at a time. Each layer keeps a **key** and a **value** of "
    "every token before: the KV cache. For the next token it reads all weights and the whole cache, and "
    "does little with each number. So **memory is the limit, and bytes are time**."
)
SERVING = (
    "[vLLM, Quantized KV Cache](https://docs.vllm.ai/en/latest/features/quantization/quantized_kvcache/)"
)
# The formats of weights and cache.
WAYS = {"all in bf16": (BF16, BF16), "KV cache in fp8": (BF16, FP8), "both in fp8": (FP8, FP8)}


def _show_cache(controls: Controls) -> None:
    know = here().know
    controls.draw(CONTEXT, here().control)
    for control in (MODEL, BATCH, GPU):
        controls.draw(control)
    settings = controls.values()
    draw_notice(
        "Writing text, a GPU waits for bytes. The KV cache alone in fp8 allows at most "
        f"**{gains(settings)[0]:.2f} times the tokens per second.**"
    )
    every = steps(settings)
    lines = [
        Bar(
            name=step.way,
            pieces={"weights": step.weight_bytes / 1e9, "KV cache": step.cache_bytes / 1e9},
            label=f"{step.tokens_s:,.0f} tokens/s at most",
        )
        for step in every
    ]
    names = {piece: piece for piece in lines[0].pieces}
    draw_chart(
        bars(lines, names, "GB read for one token of each sequence", room(), page_ink()),
        key="why_cache",
        alt="Bytes read for one token of each sequence, and tokens per second at most: "
        + "; ".join(
            f"{step.way}: {step.bytes / 1e9:,.1f} GB, {step.tokens_s:,.0f} tokens/s" for step in every
        ),
    )
    know.markdown(CACHE_IDEA)
    model, gpu = model_of(settings), card(settings[GPU.key])
    know.markdown(
        f"**{model.title}**: 2 · {model.layers} layers · {model.kv_heads} KV heads · "
        f"{model.head_dim} numbers per token, that is {bytes_text(int(token_bytes(model, BF16)))} "
        f"in bf16 and {bytes_text(int(token_bytes(model, FP8)))} in fp8; "
        f"{model.parameters / 1e9:.1f} billion weights. {count(settings[BATCH.key], 'sequence')} of "
        f"{context_of(settings):,} tokens: in bf16 the cache is {cache_share(settings):.0%} of all bytes."
    )
    know.markdown(
        f"Tokens per second: sequences · {gpu.memory_gb_s:,.0f} GB/s of the {gpu.name} / bytes read. This is "
        "a bound, not a measurement. It does not ask whether all this fits into one GPU's memory. Scales are "
        "left out: a tensor, or a head, has one."
    )
    draw_sources(f"{model.link}; {SERVING}", know)


@dataclass(frozen=True, kw_only=True)
class Step:
    way: str
    weight_bytes: float
    cache_bytes: float
    tokens_s: float

    @property
    def bytes(self) -> float:
        return self.weight_bytes + self.cache_bytes


def token_bytes(model: Model, format_: str) -> float:
    return 2 * model.layers * model.kv_heads * model.head_dim * FORMATS[format_].packed_bits / 8


def steps(settings: Settings) -> tuple[Step, ...]:
    model, batch, memory = model_of(settings), settings[BATCH.key], card(settings[GPU.key]).memory_gb_s
    every = []
    for way, (weights, cache) in WAYS.items():
        weight_bytes = model.parameters * FORMATS[weights].packed_bits / 8
        cache_bytes = batch * context_of(settings) * token_bytes(model, cache)
        tokens_s = batch * memory * 1e9 / (weight_bytes + cache_bytes)
        every.append(Step(way=way, weight_bytes=weight_bytes, cache_bytes=cache_bytes, tokens_s=tokens_s))
    return tuple(every)


def cache_share(settings: Settings) -> float:
    bf16 = steps(settings)[0]
    return bf16.cache_bytes / bf16.bytes


def gains(settings: Settings) -> tuple[float, float]:
    """Tokens per second over those of bf16: with the cache in fp8, with all in fp8."""
    bf16, cache, both = (step.tokens_s for step in steps(settings))
    return cache / bf16, both / bf16
