"""Section "Memory": all that lies in memory. Training has copies beside w; decoding has the KV cache."""

from collections.abc import Mapping

from pages.kit.chart import draw_chart, room
from pages.kit.charts.bars import Bar, bars
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Filled
from pages.kit.charts.words import bytes_text, count
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shared_controls import GPU, card
from pages.kit.shell import theme
from pages.kit.sourced import draw_sources, links, sourced
from pages.kit.tables import grid
from pages.kit.terms.explain import draw_text
from pages.kit.view import here
from pages.kit.widgets import Choice, ChoiceStyle, Value
from pages.why_fp8.controls import CONTEXT, IN, MODEL, OUT, TOKENS, context_of, layer_of, model_of
from pages.why_fp8.decoding import BATCH, BF16, FP8, cache_share, gains, steps, token_bytes
from pages.why_fp8.footprint import (
    BACKWARD,
    FORWARD,
    HEAD_OF_CHECKS,
    INFERENCE,
    MIB,
    NO_MASTER,
    SHORT,
    checks,
    first_recipes,
    footprint,
    total,
)

CACHE = "cache"
MOMENT = Choice(
    key="why_moment",
    label="What lies in memory",
    options={
        FORWARD: "After forward",
        BACKWARD: "In backward",
        INFERENCE: "Inference",
        CACHE: "KV cache",
    },
    default=FORWARD,
    style=ChoiceStyle.SELECT,
)
WEIGHTS = Choice(
    key="why_weights",
    label="Weights of the model",
    options={"bf16": "bf16", "fp32": "fp32", NO_MASTER: "quantized only"},
    default="bf16",
    help="The copy that the optimizer's step changes, where the model itself keeps one.",
)
OWN_CONTROLS = (MOMENT, WEIGHTS, BATCH)

LAYER_IDEA = (
    "Half the bits should be half the memory. **Training is different.** The optimizer changes a weight of "
    "many bits, so that one stays. Beside it lie the quantized copies: one tiled for Fprop, one for the "
    "backward pass. The output y is bf16 as before. Only x, which waits for Wgrad, is smaller."
)
CACHE_IDEA = (
    "A model that writes text makes one token at a time. Each layer keeps a **key** and a **value** of "
    "every token before: the KV cache. For the next token it reads all weights and the whole cache, and "
    "does little with each number. So **memory is the limit, and bytes are time**."
)
SERVING = (
    "[vLLM, Quantized KV Cache](https://docs.vllm.ai/en/latest/features/quantization/quantized_kvcache/)"
)
_COUNTED = {
    FORWARD: "After the forward pass, with w, its copy, x and y",
    BACKWARD: "In the backward pass, with w, dy, their copies and x",
    INFERENCE: "In inference, with w and y",
}


def show(controls: Controls) -> None:
    """Draw the bytes of the chosen moment."""
    if controls.draw(MOMENT, here().control) == CACHE:
        _show_cache(controls)
    else:
        _show_layer(controls)


def _show_layer(controls: Controls) -> None:
    """One linear layer in bf16 and in one recipe of each family, and the check of the sum."""
    know = here().know
    controls.draw(TOKENS)
    if controls.value(MOMENT) != INFERENCE:
        controls.draw(WEIGHTS)
    for control in (IN, OUT):
        controls.draw(control)
    settings = controls.values()
    draw_notice(layer_notice(settings))
    draw_chart(
        layer_picture(settings, theme(), room()),
        key="why_memory",
        is_rigid=True,
        alt="Memory of one linear layer: "
        + "; ".join(f"{name} {bytes_text(size)}" for name, size in totals(settings).items()),
    )
    draw_text(LAYER_IDEA, know)
    layer = layer_of(settings)
    know.markdown(
        f"{count(layer.tokens, 'token')}, a weight of {layer.out:,} × {layer.in_:,}. With more tokens x "
        "and y weigh more, and the copies of w less. Copies and layouts follow from each recipe, as the page "
        "Tile layouts counts them. Hopper needs every operand contiguous along K. The backward pass keeps "
        "all copies of w and dy at once. The optimizer's own state, two moments and often an fp32 weight, is "
        "as large as in bf16, and left out."
    )
    know.markdown("**Does this sum agree with a measurement?**")
    know.html(grid(HEAD_OF_CHECKS, checks(), INKS[theme()]))
    draw_sources(links(sourced().measured), know)


def totals(settings: Mapping[str, Value]) -> dict[str, int]:
    """All bytes of the layer: in bf16 first, then by the title of each recipe."""
    layer, moment, weights = layer_of(settings), settings[MOMENT.key], settings[WEIGHTS.key]
    named = [(BF16, None), *((recipe.title, recipe) for recipe in first_recipes())]
    return {name: total(recipe, layer, moment, weights) for name, recipe in named}


def ratios(settings: Mapping[str, Value]) -> dict[str, float]:
    """Bytes over those of bf16, by the title of each recipe."""
    every = totals(settings)
    return {name: size / every[BF16] for name, size in every.items() if name != BF16}


def layer_picture(settings: Mapping[str, Value], theme: str, room: int) -> Filled:
    """A bar for bf16 and each recipe, with its pieces."""
    layer, moment, weights = layer_of(settings), settings[MOMENT.key], settings[WEIGHTS.key]
    compared = ratios(settings)
    lines = []
    for name, recipe in [(BF16, None), *((recipe.title, recipe) for recipe in first_recipes())]:
        pieces = footprint(recipe, layer, moment, weights)
        size = bytes_text(sum(pieces.values()))
        lines.append(
            Bar(
                name=name,
                pieces={piece: amount / MIB for piece, amount in pieces.items()},
                label=size if recipe is None else f"{size}, {compared[name]:.2f}×",
            )
        )
    return bars(lines, SHORT, "MiB of one linear layer", room, INKS[theme])


def layer_notice(settings: Mapping[str, Value]) -> str:
    """The tensors that count, and the recipe that takes the least."""
    every, moment = ratios(settings), settings[MOMENT.key]
    least = min(every, key=every.__getitem__)
    return (
        f"{_COUNTED[moment]} all counted, the smallest recipe, {least}, takes "
        f"**{every[least]:.2f} times the memory of bf16.**"
    )


def _show_cache(controls: Controls) -> None:
    """The bytes of a step of decoding, and the bound on tokens per second."""
    know = here().know
    controls.draw(CONTEXT, here().control)
    for control in (MODEL, BATCH, GPU):
        controls.draw(control)
    settings = controls.values()
    draw_notice(cache_notice(settings))
    draw_chart(
        cache_picture(settings, theme(), room()),
        key="why_cache",
        is_rigid=True,
        alt="Bytes read for one token of each sequence, and tokens per second at most: "
        + "; ".join(
            f"{step.way}: {step.bytes / 1e9:,.1f} GB, {step.tokens_s:,.0f} tokens/s"
            for step in steps(settings)
        ),
    )
    draw_text(CACHE_IDEA, know)
    _draw_rule(settings)
    draw_sources(f"{model_of(settings).link}; {SERVING}", know)


def _draw_rule(settings: Mapping[str, Value]) -> None:
    """The sizes and the rule behind the bars of a step."""
    model, gpu = model_of(settings), card(settings[GPU.key])
    here().know.markdown(
        f"**{model.title}**: 2 · {model.layers} layers · {model.kv_heads} KV heads · "
        f"{model.head_dim} numbers per token, that is {bytes_text(int(token_bytes(model, BF16)))} "
        f"in bf16 and {bytes_text(int(token_bytes(model, FP8)))} in fp8; "
        f"{model.parameters / 1e9:.1f} billion weights. {count(settings[BATCH.key], 'sequence')} of "
        f"{context_of(settings):,} tokens: in bf16 the cache is {cache_share(settings):.0%} of all bytes."
    )
    here().know.markdown(
        f"Tokens per second: sequences · {gpu.memory_gb_s:,.0f} GB/s of the {gpu.name} / bytes read. This is "
        "a bound, not a measurement. It does not ask whether all this fits into one GPU's memory. Scales are "
        "left out: a tensor, or a head, has one."
    )


def cache_picture(settings: Mapping[str, Value], theme: str, room: int) -> Filled:
    """A bar for each way: bytes of weights, bytes of the cache, and the tokens per second."""
    weights, cache = "weights", "KV cache"
    lines = [
        Bar(
            name=step.way,
            pieces={weights: step.weight_bytes / 1e9, cache: step.cache_bytes / 1e9},
            label=f"{step.tokens_s:,.0f} tokens/s at most",
        )
        for step in steps(settings)
    ]
    axis = "GB read for one token of each sequence"
    return bars(lines, {weights: weights, cache: cache}, axis, room, INKS[theme])


def cache_notice(settings: Mapping[str, Value]) -> str:
    """The gain of fp8 for the cache alone."""
    cache, _ = gains(settings)
    return (
        "Writing text, a GPU waits for bytes. The KV cache alone in fp8 allows at most "
        f"**{cache:.2f} times the tokens per second.**"
    )
