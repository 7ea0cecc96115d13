"""One step of decoding: each sequence gets one token, and every weight and cached number is read once."""

from collections.abc import Mapping
from dataclasses import dataclass

from fp8core.formats import FORMATS
from pages.kit.datasheet import GPU, card
from pages.kit.sourced import sourced
from pages.kit.widgets import Value, Whole
from pages.why_fp8.controls import MODEL, OWN, context_of

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
    """Bytes that one step reads, and how many tokens per second that allows at most."""

    way: str
    weight_bytes: float
    cache_bytes: float
    tokens_s: float

    @property
    def bytes(self) -> float:
        return self.weight_bytes + self.cache_bytes


def sizes(settings: Mapping[str, Value]) -> Sizes:
    """The chosen model's sizes, or the reader's own."""
    if settings[MODEL.key] == OWN:
        layers, heads, dim, billions = (settings[control.key] for control in OWN_SIZES)
        return Sizes(layers=layers, kv_heads=heads, head_dim=dim, parameters=billions * 10**9)
    model = sourced().models[settings[MODEL.key]]
    return Sizes(
        layers=model.layers, kv_heads=model.kv_heads, head_dim=model.head_dim, parameters=model.parameters
    )


def steps(settings: Mapping[str, Value]) -> tuple[Step, ...]:
    """A step of decoding in each of WAYS, on one GPU of the datasheet's bandwidth."""
    model, batch = sizes(settings), settings[BATCH.key]
    cached, memory = batch * context_of(settings), card(settings[GPU.key]).memory_gb_s
    every = []
    for way, (weights, cache) in WAYS.items():
        weight_bytes = model.parameters * FORMATS[weights].packed_bits / 8
        cache_bytes = cached * model.token_bytes(cache)
        tokens_s = batch * memory * 1e9 / (weight_bytes + cache_bytes)
        every.append(Step(way=way, weight_bytes=weight_bytes, cache_bytes=cache_bytes, tokens_s=tokens_s))
    return tuple(every)


def cache_share(settings: Mapping[str, Value]) -> float:
    """The cache's share of the bytes of a step in bf16."""
    bf16 = steps(settings)[0]
    return bf16.cache_bytes / bf16.bytes


def gains(settings: Mapping[str, Value]) -> tuple[float, float]:
    """Tokens per second over those of bf16: with the cache in fp8, and with the weights in fp8 as well."""
    bf16, cache, both = (step.tokens_s for step in steps(settings))
    return cache / bf16, both / bf16
