"""Facts of the page "Why FP8" for the lesson, computed by what the page draws from."""

from collections.abc import Callable, Mapping

from kernels.bench.ceilings.peak_rates import Rate
from pages.kit.datasheet import GPU, card
from pages.kit.widgets import Value
from pages.why_fp8.bound import found, gain, turn
from pages.why_fp8.cache import cache_share, gains, token_bytes
from pages.why_fp8.controls import ALL_CONTROLS, LOSS_SCALE, TOKENS
from pages.why_fp8.decoding import BF16, FP8, steps
from pages.why_fp8.gradients import best_scale
from pages.why_fp8.history import shares as lost_shares
from pages.why_fp8.memory import ratios
from pages.why_fp8.rates import growth, rate
from pages.why_fp8.scaled import context_of, model_of
from pages.why_fp8.work import quantized_share, shares

Settings = Mapping[str, Value]

CONTROLS = ALL_CONTROLS
_KIB = 1024.0


def fp8_rate_gain(settings: Settings) -> float:
    """The peak rate of fp8 over that of bf16 on the chosen GPU; 1 where it has no fp8."""
    return rate(card(settings[GPU.key]), Rate.FP8, "bf16") or 1.0


def tf32_rate_gain(settings: Settings) -> float:
    """The peak rate of bf16 over that of TF32 on the chosen GPU."""
    return 1.0 / (rate(card(settings[GPU.key]), Rate.TF32, "bf16") or 1.0)


def fp8_gain(settings: Settings) -> float:
    """The most that fp8 can gain over bf16 for the chosen matmul; 1 where the GPU has no fp8."""
    return gain(settings, Rate.FP8) or 1.0


def _us(part: str) -> Callable[[Settings], float]:
    return lambda settings: getattr(found(settings)[Rate.BF16], part)


def _loss_at(name: str) -> Callable[[Settings], float]:
    return lambda settings: lost_shares()[name][settings[LOSS_SCALE.key]]


def fp8_least_lost(_settings: Settings) -> float:
    """The smallest share of the gradients that any one scale leaves lost in e4m3."""
    return min(lost_shares()["e4m3"])


FACTS: dict[str, Callable[[Settings], float | int | str]] = {
    "fp8_rate_gain": fp8_rate_gain,
    "tf32_rate_gain": tf32_rate_gain,
    "newest": lambda _settings: growth()[0],
    "rate_growth": lambda _settings: growth()[1],
    "memory_growth": lambda _settings: growth()[2],
    "limit": lambda settings: found(settings)[Rate.BF16].limit,
    "memory_us": _us("memory_us"),
    "arithmetic_us": _us("arithmetic_us"),
    "turn_tokens": turn,
    "tokens": lambda settings: 1 << settings[TOKENS.key],
    "fp8_gain": fp8_gain,
    "token_kib": lambda settings: token_bytes(settings, BF16) / _KIB,
    "token_kib_fp8": lambda settings: token_bytes(settings, FP8) / _KIB,
    "cache_share": cache_share,
    "cache_gain": lambda settings: gains(settings)[0],
    "all_gain": lambda settings: gains(settings)[1],
    "tokens_s": lambda settings: steps(settings)[0].tokens_s,
    "context": context_of,
    "fp8_memory": lambda settings: next(iter(ratios(settings).values())),
    "most_memory": lambda settings: max(ratios(settings).values()),
    "quantized_percent": lambda settings: 100 * quantized_share(model_of(settings), context_of(settings)),
    "attention_share": lambda settings: shares(model_of(settings), context_of(settings))["attention"],
    "whole_gain": lambda settings: 1 / (1 - quantized_share(model_of(settings), context_of(settings)) / 2),
    "fp16_lost": _loss_at("fp16"),
    "e4m3_lost": _loss_at("e4m3"),
    "e2m1_lost": _loss_at("e2m1"),
    "e4m3_least_lost": fp8_least_lost,
    "e4m3_best_scale": lambda _settings: best_scale("e4m3"),
}
