"""One step of decoding: each sequence gets one token, and every weight and cached number is read once."""

from collections.abc import Mapping
from dataclasses import dataclass

from fp8core.formats import FORMATS
from pages.kit.shared_controls import GPU, card
from pages.kit.sourced import Model
from pages.kit.widgets import Value, Whole
from pages.why_fp8.controls import context_of, model_of

BATCH = Whole(
    key="why_batch",
    label="Sequences at once",
    low=1,
    high=1024,
    default=16,
    help="All of them read the same weights, and each reads a cache of its own.",
)
BF16, FP8 = "bf16", "e4m3"
WAYS = {
    "all in bf16": (BF16, BF16),
    "KV cache in fp8": (BF16, FP8),
    "both in fp8": (FP8, FP8),
}
"""The formats of weights and cache."""


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


def token_bytes(model: Model, format_: str) -> float:
    """Bytes that one token keeps in the cache: a key and a value in each layer."""
    return 2 * model.layers * model.kv_heads * model.head_dim * FORMATS[format_].packed_bits / 8


def steps(settings: Mapping[str, Value]) -> tuple[Step, ...]:
    """A step of decoding in each of WAYS, on one GPU of the datasheet's bandwidth."""
    model, batch = model_of(settings), settings[BATCH.key]
    cached, memory = batch * context_of(settings), card(settings[GPU.key]).memory_gb_s
    every = []
    for way, (weights, cache) in WAYS.items():
        weight_bytes = model.parameters * FORMATS[weights].packed_bits / 8
        cache_bytes = cached * token_bytes(model, cache)
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
