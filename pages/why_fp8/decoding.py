"""A step of decoding: the model, the context, how many sequences, and the bytes that each step reads."""

from collections.abc import Mapping
from dataclasses import dataclass

from fp8core.formats import FORMATS
from kernels.bench.ceilings.peak_rates import PeakRates
from pages.kit.controls import Controls
from pages.kit.datasheet import GPU, card
from pages.kit.sourced import sourced
from pages.kit.widgets import Choice, ChoiceStyle, Place, Value, Whole

OWN = "own"

MODEL = Choice(
    key="why_model",
    label="Model",
    options={name: model.title for name, model in sourced().models.items()} | {OWN: "Your own sizes"},
    default="llama31_8b",
    style=ChoiceStyle.SELECT,
)
LAYERS = Whole(key="why_layers", label="Layers", low=1, high=256, default=32)
KV_HEADS = Whole(
    key="why_kv_heads",
    label="KV heads",
    low=1,
    high=256,
    default=8,
    help="Heads that keep keys and values. Several heads of queries may share one.",
)
HEAD_DIM = Whole(key="why_head_dim", label="Numbers in a head", low=16, high=512, default=128)
BILLIONS = Whole(
    key="why_billions", label="Weights, in billions", low=1, high=2000, default=8, help="Parameters."
)
CONTEXT = Choice(
    key="why_context",
    label="Context",
    options={k: f"{1 << k:,} tokens" for k in range(7, 21)},
    default=13,
    style=ChoiceStyle.SELECT,
    help="Tokens of a sequence so far.",
)
BATCH = Whole(
    key="why_batch",
    label="Sequences at once",
    low=1,
    high=1024,
    default=16,
    help="All of them read the same weights, and each reads a cache of its own.",
)
OWN_SIZES = (LAYERS, KV_HEADS, HEAD_DIM, BILLIONS)
"""The sizes of a model of the reader's own."""


BF16, FP8 = "bf16", "e4m3"
WAYS = {
    "all in bf16": (BF16, BF16),
    "KV cache in fp8": (BF16, FP8),
    "both in fp8": (FP8, FP8),
}
"""The formats of weights and cache."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """All of a model that decoding reads."""

    layers: int
    kv_heads: int
    head_dim: int
    parameters: int

    def token_bytes(self, format_: str) -> float:
        """Bytes that one token keeps in the cache: a key and a value in each layer."""
        return 2 * self.layers * self.kv_heads * self.head_dim * FORMATS[format_].packed_bits / 8


@dataclass(frozen=True, kw_only=True)
class Step:
    """Bytes that one step reads, and how many tokens a second that allows at most."""

    way: str
    weight_bytes: float
    cache_bytes: float
    tokens_s: float


def sizes(settings: Mapping[str, Value]) -> Sizes:
    """The chosen model's sizes, or the reader's own."""
    if settings[MODEL.key] == OWN:
        layers, heads, dim, billions = (settings[c.key] for c in (LAYERS, KV_HEADS, HEAD_DIM, BILLIONS))
        return Sizes(layers=layers, kv_heads=heads, head_dim=dim, parameters=billions * 10**9)
    model = sourced().models[settings[MODEL.key]]
    return Sizes(
        layers=model.layers,
        kv_heads=model.kv_heads,
        head_dim=model.head_dim,
        parameters=model.parameters,
    )


def steps(settings: Mapping[str, Value]) -> tuple[Step, ...]:
    """A step of decoding in each of WAYS, on one GPU of the datasheet's bandwidth."""
    model, batch = sizes(settings), settings[BATCH.key]
    cached, memory = batch << settings[CONTEXT.key], card(settings[GPU.key]).memory_gb_s
    found = []
    for way, (weights, cache) in WAYS.items():
        weight_bytes = model.parameters * FORMATS[weights].packed_bits / 8
        cache_bytes = cached * model.token_bytes(cache)
        tokens_s = batch * memory * 1e9 / (weight_bytes + cache_bytes)
        found.append(Step(way=way, weight_bytes=weight_bytes, cache_bytes=cache_bytes, tokens_s=tokens_s))
    return tuple(found)


def draw_sizes(controls: Controls, place: Place | None = None) -> str:
    """Draw the context in `place`, all others among the further fields; returns the model's key."""
    controls.draw(CONTEXT, place)
    model = controls.draw(MODEL)
    for control in OWN_SIZES if model == OWN else ():
        controls.draw(control)
    controls.draw(BATCH)
    controls.draw(GPU)
    return model


def bound_words(gpu: PeakRates) -> str:
    """The rule behind tokens per second, and what it leaves open."""
    return (
        f"Tokens per second: sequences · {gpu.memory_gb_s:,.0f} GB/s of the {gpu.name} / bytes read. This is "
        "a bound, not a measurement. It does not ask whether all this fits into one GPU's memory."
    )
