"""Facts of the page "Accumulation" for the lesson, computed by what the page draws from."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fp8core.accumulators import ACCUMULATORS
from fp8core.accumulators.error_over_k import SumError, promotions_per_flop
from fp8core.accumulators.trace import TracedStep
from fp8core.experiments.dot_terms import TermKind
from pages.accumulation.controls import (
    ALL_CONTROLS,
    K_STEPPED,
    LONGEST_K,
    OPERANDS,
    TERMS,
    UNIT,
)
from pages.accumulation.data import NEVER, errors
from pages.accumulation.steps import cut_short, traced
from pages.kit.shared_controls import SEED

Settings = Mapping[str, Any]

CONTROLS = ALL_CONTROLS
CHAIN, PROMOTED, BLACKWELL = "hopper_fast", "hopper_promoted", "blackwell_fp8"


def _steps(settings: Settings) -> Sequence[TracedStep]:
    chosen = (UNIT, TERMS, OPERANDS, K_STEPPED, SEED)
    return traced(*(settings[control.key] for control in chosen))


def cut_count(settings: Settings) -> int:
    """The number of products of the dot product that lose bits to the cut."""
    return cut_short(_steps(settings))


def cut_share(settings: Settings) -> float:
    """The share of the products that lose bits to the cut."""
    return cut_count(settings) / settings[K_STEPPED.key]


def _last(unit: str, terms: str, settings: Settings) -> SumError:
    """The error of a unit's sums of the longest K."""
    of_all = settings[OPERANDS.key], settings[LONGEST_K.key], settings[SEED.key]
    return errors(unit, NEVER, terms, *of_all)[-1]


def _rms(unit: str) -> Callable[[Settings], float]:
    return lambda settings: _last(unit, settings[TERMS.key], settings).rms


def _bias(settings: Settings) -> float:
    """The signed error of one chain; below 0 where results lie nearer to zero."""
    return _last(CHAIN, settings[TERMS.key], settings).bias


def chain_side(settings: Settings) -> str:
    """The direction of the error of one chain, if most of the error has one."""
    last = _last(CHAIN, settings[TERMS.key], settings)
    if abs(last.bias) < last.rms / 2:
        return "both"
    return "small" if last.bias < 0 else "large"


def same_sign_ratio(settings: Settings) -> float:
    """The error of one chain on numbers of one sign, over that on the chosen numbers."""
    same = _last(CHAIN, TermKind.SAME_SIGN.value, settings).rms
    return same / _last(CHAIN, settings[TERMS.key], settings).rms


def promotion_price(settings: Settings) -> float:
    """The fp32 additions of promotion in 1,000 FLOP."""
    return 1000 * promotions_per_flop(ACCUMULATORS[PROMOTED].promotion)


FACTS: dict[str, Callable[[Settings], float | int | str]] = {
    "k": lambda settings: settings[K_STEPPED.key],
    "longest_k": lambda settings: settings[LONGEST_K.key],
    "fraction_bits": lambda settings: ACCUMULATORS[settings[UNIT.key]].fraction_bits,
    "chain_fraction_bits": lambda _: ACCUMULATORS[CHAIN].fraction_bits,
    "fp32_fraction_bits": lambda _: ACCUMULATORS["fp32"].fraction_bits,
    "blackwell_fraction_bits": lambda _: ACCUMULATORS[BLACKWELL].fraction_bits,
    "products_a_step": lambda settings: ACCUMULATORS[settings[UNIT.key]].fused_products,
    "promotion": lambda _: ACCUMULATORS[PROMOTED].promotion,
    "cut_count": cut_count,
    "cut_share": cut_share,
    "chain_error": _rms(CHAIN),
    "chain_bias": lambda settings: abs(_bias(settings)),
    "chain_side": chain_side,
    "promoted_error": _rms(PROMOTED),
    "promoted_percent": lambda settings: 100 * _rms(PROMOTED)(settings),
    "blackwell_error": _rms(BLACKWELL),
    "same_sign_ratio": same_sign_ratio,
    "promotion_price": promotion_price,
}
