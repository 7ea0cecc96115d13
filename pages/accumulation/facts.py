"""Facts of the page "Accumulation" for the lesson, computed by what the page draws from."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fp8core.accumulators import ACCUMULATORS
from fp8core.accumulators.error_over_k import SumError, promotions_per_flop
from fp8core.accumulators.trace import TracedStep
from fp8core.experiments.dot_terms import TermKind
from pages.accumulation.controls import ALL_CONTROLS, K_STEPPED, LONGEST_K, OPERANDS, TERMS, UNIT
from pages.accumulation.data import NEVER, errors
from pages.accumulation.steps import cut_short, traced
from pages.kit.shared_controls import SEED

Settings = Mapping[str, Any]

CONTROLS = ALL_CONTROLS
CHAIN, PROMOTED, BLACKWELL = "hopper_fast", "hopper_promoted", "blackwell_fp8"


def _steps(settings: Settings) -> Sequence[TracedStep]:
    return traced(*(settings[control.key] for control in (UNIT, TERMS, OPERANDS, K_STEPPED, SEED)))


def _last(settings: Settings, unit: str = CHAIN, terms: str = "") -> SumError:
    """The error of a unit's sums of the longest K, of the chosen numbers or of others."""
    of_all = settings[OPERANDS.key], settings[LONGEST_K.key], settings[SEED.key]
    return errors(unit, NEVER, terms or settings[TERMS.key], *of_all)[-1]


def chain_side(settings: Settings) -> str:
    """The direction of the error of one chain, if most of the error has one."""
    last = _last(settings)
    if abs(last.bias) < last.rms / 2:
        return "both"
    return "small" if last.bias < 0 else "large"


def same_sign_ratio(settings: Settings) -> float:
    """The error of one chain on numbers of one sign, over that on the chosen numbers."""
    return _last(settings, terms=TermKind.SAME_SIGN.value).rms / _last(settings).rms


FACTS: dict[str, Callable[[Settings], float | int | str]] = {
    "k": lambda settings: settings[K_STEPPED.key],
    "longest_k": lambda settings: settings[LONGEST_K.key],
    "fraction_bits": lambda settings: ACCUMULATORS[settings[UNIT.key]].fraction_bits,
    "chain_fraction_bits": lambda _: ACCUMULATORS[CHAIN].fraction_bits,
    "fp32_fraction_bits": lambda _: ACCUMULATORS["fp32"].fraction_bits,
    "blackwell_fraction_bits": lambda _: ACCUMULATORS[BLACKWELL].fraction_bits,
    "products_a_step": lambda settings: ACCUMULATORS[settings[UNIT.key]].fused_products,
    "promotion": lambda _: ACCUMULATORS[PROMOTED].promotion,
    "cut_count": lambda settings: cut_short(_steps(settings)),
    "cut_share": lambda settings: cut_short(_steps(settings)) / settings[K_STEPPED.key],
    "chain_error": lambda settings: _last(settings).rms,
    "chain_bias": lambda settings: abs(_last(settings).bias),
    "chain_side": chain_side,
    "promoted_error": lambda settings: _last(settings, PROMOTED).rms,
    "promoted_percent": lambda settings: 100 * _last(settings, PROMOTED).rms,
    "blackwell_error": lambda settings: _last(settings, BLACKWELL).rms,
    "same_sign_ratio": same_sign_ratio,
    # The fp32 additions of promotion in 1,000 FLOP.
    "promotion_price": lambda _: 1000 * promotions_per_flop(ACCUMULATORS[PROMOTED].promotion),
}
