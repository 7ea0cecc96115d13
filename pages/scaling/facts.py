"""Facts of the page "Scaling" for the lesson, computed by what the page draws from."""

from collections.abc import Callable, Mapping

import numpy as np

from fp8core.experiments.scale_sweep import ScaleSweep
from fp8core.formats import FORMATS
from pages.kit.shared_controls import SEED
from pages.kit.widgets import Value
from pages.scaling.controls import (
    ALL_CONTROLS,
    AMAX_CHOICE,
    BLOCK_KIND,
    BLOCK_SIZE,
    COUNT,
    ELEMENT,
    FORMAT,
    HISTORY,
    KIND,
    LOG2_SCALE,
    MAGNITUDE,
    MARGIN,
    OWN,
    PASTED,
    ROLE,
    SERIES,
    STEPS,
)
from pages.scaling.data import Window, on_slider, sweep
from pages.scaling.delayed_data import Series, Strategy, generated, strategies
from pages.scaling.rules_data import Landing, landings
from pages.scaling.series import parse_series
from pages.scaling.words import EXACT, FLOOR, NEAR_DB, UP

Settings = Mapping[str, Value]

CONTROLS = ALL_CONTROLS
_DELAYED = {"max": 1, "most_recent": 2}
"""The place of each delayed choice among the strategies; the first is current scaling."""


def _window(settings: Settings) -> Window:
    return tuple(settings[control.key] for control in (FORMAT, KIND, ROLE, SEED, MAGNITUDE, COUNT))


def _at(settings: Settings, log2_scale: float | None = None) -> tuple[ScaleSweep, int]:
    """All scales of the slider, and the index of one: the chosen one where none is given."""
    window = _window(settings)
    wanted = settings[LOG2_SCALE.key] if log2_scale is None else log2_scale
    every = sweep(window)[0]
    return every, int(np.argmin(np.abs(np.log2(every.scale) - on_slider(window, wanted))))


def zeros_share(settings: Settings) -> float:
    """The share of the numbers that become 0 under the slider's scale."""
    every, index = _at(settings)
    return every.dead_share[index]


def saturated_share(settings: Settings) -> float:
    """The share of the numbers that saturate under the slider's scale."""
    every, index = _at(settings)
    return every.saturated_share[index]


def sqnr_db(settings: Settings) -> float:
    """SQNR under the slider's scale."""
    every, index = _at(settings)
    return every.sqnr_db[index]


def unscaled_zeros_share(settings: Settings) -> float:
    """The share of the numbers that become 0 without a scale."""
    every, index = _at(settings, 0.0)
    return every.dead_share[index]


def amax_sqnr_db(settings: Settings) -> float:
    """SQNR under the amax scale."""
    return sweep(_window(settings))[1].sqnr_db[0]


def amax_zeros_share(settings: Settings) -> float:
    """The share of the numbers that become 0 under the amax scale."""
    return sweep(_window(settings))[1].dead_share[0]


def plateau_factor(settings: Settings) -> float:
    """The factor by which the scale may change while SQNR stays near its best."""
    every = sweep(_window(settings))[0]
    first, last = every.near_best(NEAR_DB)
    return every.scale[last] / every.scale[first]


def near_db(_settings: Settings) -> float:
    """The distance in dB that counts as near the best."""
    return NEAR_DB


def largest(settings: Settings) -> float:
    """The largest value of the format."""
    return FORMATS[settings[FORMAT.key]].max


def smallest(settings: Settings) -> float:
    """The smallest value of the format above zero."""
    return FORMATS[settings[FORMAT.key]].min_subnormal


def _landings(settings: Settings) -> Mapping[str, Landing]:
    return landings(tuple(settings[control.key] for control in (ELEMENT, BLOCK_SIZE, BLOCK_KIND, ROLE, SEED)))


def _of_rule(rule: str, field: str) -> Callable[[Settings], float]:
    return lambda settings: getattr(_landings(settings)[rule], field)


def round_up_gain_db(settings: Settings) -> float:
    """The gain in SQNR of the round-up rule over the floor rule."""
    found = _landings(settings)
    return found[UP].sqnr_db - found[FLOOR].sqnr_db


def _series(settings: Settings) -> Series:
    if settings[SERIES.key] == PASTED:
        return parse_series(settings[OWN.key])
    return generated(*(settings[control.key] for control in (SERIES, STEPS, SEED)))


def _strategies(settings: Settings) -> list[Strategy]:
    return strategies(_series(settings), settings[HISTORY.key], settings[MARGIN.key])


def _delayed(settings: Settings) -> Strategy:
    return _strategies(settings)[_DELAYED[settings[AMAX_CHOICE.key]]]


def overflows(settings: Settings) -> int:
    """The steps that overflow with the delayed scale."""
    return _delayed(settings).overflows


def overflows_share(settings: Settings) -> float:
    """The share of the steps that overflow with the delayed scale."""
    return _delayed(settings).overflows / _delayed(settings).steps


def current_overflows(settings: Settings) -> int:
    """The steps that overflow with a scale of their own amax."""
    return _strategies(settings)[0].overflows


def unused_bits(settings: Settings) -> float:
    """The bits of range that the delayed scale leaves unused, in the mean over the steps that fit."""
    return _delayed(settings).unused_bits


def worst(settings: Settings) -> float:
    """The largest ratio of a step's amax to the largest value that the delayed scale holds."""
    return _delayed(settings).worst


FACTS: dict[str, Callable[[Settings], float | int | str]] = {
    "zeros_share": zeros_share,
    "saturated_share": saturated_share,
    "sqnr_db": sqnr_db,
    "unscaled_zeros_share": unscaled_zeros_share,
    "amax_sqnr_db": amax_sqnr_db,
    "amax_zeros_share": amax_zeros_share,
    "plateau_factor": plateau_factor,
    "near_db": near_db,
    "largest": largest,
    "smallest": smallest,
    "floor_saturated": _of_rule(FLOOR, "saturated"),
    "floor_sqnr_db": _of_rule(FLOOR, "sqnr_db"),
    "round_up_sqnr_db": _of_rule(UP, "sqnr_db"),
    "round_up_gain_db": round_up_gain_db,
    "fp32_sqnr_db": _of_rule(EXACT, "sqnr_db"),
    "overflows": overflows,
    "overflows_share": overflows_share,
    "current_overflows": current_overflows,
    "unused_bits": unused_bits,
    "worst": worst,
}
