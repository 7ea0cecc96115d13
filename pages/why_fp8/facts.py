"""Facts of the page "Why FP8" for the lesson."""

from collections.abc import Callable

from kernels.measure.peak_rates import Rate
from pages.kit.shared_controls import GPU, card
from pages.kit.widgets import Settings
from pages.why_fp8 import history, memory, rates
from pages.why_fp8.bound import bounds_of, gain, turn
from pages.why_fp8.controls import CONTEXT, IN, MODEL, OUT, SHOW, TOKENS, context_of, model_of
from pages.why_fp8.scaled import matmul_gain, quantized_share, shares

_LAYER = (GPU, TOKENS, IN, OUT)
CONTROLS = (SHOW, rates.UNIT, *_LAYER, MODEL, CONTEXT, *memory.OWN_CONTROLS, history.LOSS_SCALE)


def _us(part: str) -> Callable[[Settings], float]:
    return lambda settings: getattr(bounds_of(settings)[Rate.BF16], part)


def _lost(format_: str) -> Callable[[Settings], float]:
    return lambda settings: history.shares()[format_][settings[history.LOSS_SCALE.key]]


def _model(settings: Settings) -> tuple:
    return model_of(settings), context_of(settings)


FACTS = {
    "fp8_rate_gain": lambda settings: rates.rate(card(settings[GPU.key]), Rate.FP8, "bf16") or 1.0,
    "newest": lambda _settings: rates.growth()[0],
    "rate_growth": lambda _settings: rates.growth()[1],
    "memory_growth": lambda _settings: rates.growth()[2],
    "memory_us": _us("memory_us"),
    "arithmetic_us": _us("arithmetic_us"),
    "turn_tokens": turn,
    "tokens": lambda settings: 1 << settings[TOKENS.key],
    "fp8_gain": lambda settings: gain(settings) or 1.0,
    "token_kib": lambda settings: memory.token_bytes(model_of(settings), memory.BF16) / 1024,
    "cache_share": memory.cache_share,
    "cache_gain": lambda settings: memory.gains(settings)[0],
    "all_gain": lambda settings: memory.gains(settings)[1],
    "context": context_of,
    # The first recipe has one scale a tensor.
    "fp8_memory": lambda settings: list(memory.ratios(settings).values())[1],
    "quantized_percent": lambda settings: 100 * quantized_share(*_model(settings)),
    "attention_share": lambda settings: shares(*_model(settings))["attention"],
    "whole_gain": lambda settings: matmul_gain(*_model(settings)),
    "fp16_lost": _lost("fp16"),
    "e4m3_lost": _lost("e4m3"),
}
