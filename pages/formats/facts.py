"""Facts of the page "Formats" for the lesson, computed by what the page draws from."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fp8core.formats import FORMATS, Format
from fp8core.formats.binades import dynamic_range, finest_bits
from pages.formats.compare import count_between
from pages.formats.controls import (
    ALL_CONTROLS,
    COMPARED,
    FORMAT,
    LOSS_SCALE,
    NUMBER,
    OVERFLOW,
    OVERFLOWING,
    OWN_CONTROLS,
    ROUNDING,
    TITLES,
    format_of,
    overflow_of,
    rounding_of,
)
from pages.formats.data import gradient_fates
from pages.kit.number_text import CodeText, read

Settings = Mapping[str, Any]

CONTROLS = ALL_CONTROLS


def _named(settings: Settings, name: str) -> Format:
    return format_of(name, tuple(settings[control.key] for control in OWN_CONTROLS))


def _format(settings: Settings) -> Format:
    """The format of "One code"."""
    return _named(settings, settings[FORMAT.key])


def number(settings: Settings) -> float:
    """The number that is typed; of a code, its value."""
    typed = read(settings[NUMBER.key])
    return float(_format(settings).decode(typed.code)) if isinstance(typed, CodeText) else typed


def rounded(settings: Settings) -> float:
    """The value that the number becomes."""
    format_ = _format(settings)
    how = rounding_of(settings[ROUNDING.key]), overflow_of(settings[OVERFLOW.key])
    return float(format_.decode(format_.encode(number(settings), *how)))


def rounded_ratio(settings: Settings) -> float:
    """The value that the number becomes, over the number."""
    return rounded(settings) / number(settings)


def number_count(settings: Settings) -> int:
    """How many finite numbers the format has; 0 and −0 are one."""
    values = _format(settings).values
    return np.unique(values[np.isfinite(values)]).size


def worst_error(settings: Settings) -> float:
    """The largest relative error of rounding to nearest inside the normal range.

    It is that of a number half a step above a power of two.
    """
    half = 2.0 ** -(finest_bits(_format(settings)) + 1)
    return half / (1 + half)


def _compared(settings: Settings, place: int) -> Format:
    names = [name for name in TITLES if name in settings[COMPARED.key]]
    return _named(settings, names[place])


def share_below_one(settings: Settings) -> float:
    """The share of the positive values that lie below 1, in the first of the compared formats."""
    format_ = _compared(settings, 0)
    return count_between(format_, 0.0, 1.0) / count_between(format_, 0.0, np.inf)


def values_per_binade(settings: Settings) -> int:
    """The number of values from 1 to 2, in the first of the compared formats."""
    return count_between(_compared(settings, 0), 1.0, 2.0)


def even_end(side: int) -> Callable[[Settings], float]:
    """The lower (-1) or upper (1) end of the binades around 1 that have equally many values."""

    def found(settings: Settings) -> float:
        format_, count = _compared(settings, 0), values_per_binade(settings)
        power = 0
        while count and count_between(format_, 2.0 ** (power + side), 2.0 ** (power + side + 1)) == count:
            power += side
        return 2.0 ** max(power, power + side)

    return found


def range_ratio(settings: Settings) -> float:
    """How many times as wide the last compared format's range is as the first one's."""
    return 2.0 ** (dynamic_range(_compared(settings, -1)) - dynamic_range(_compared(settings, 0)))


def _specials(name: str) -> Callable[[Settings], int]:
    """The number of codes of a format that are no finite number."""
    return lambda _: int((~np.isfinite(FORMATS[name].values)).sum())


def special_codes(settings: Settings) -> int:
    """The number of codes that are no finite number, in the first of the formats under "Overflow"."""
    values = _named(settings, settings[OVERFLOWING.key][0]).values
    return int((~np.isfinite(values)).sum())


def _of(name: str, measure: Callable[[Format], float]) -> Callable[[Settings], float]:
    return lambda _: measure(FORMATS[name])


def _zero(name: str) -> Callable[[Settings], float]:
    """The share of the gradients that become zero in a format under the loss scale."""
    return lambda settings: gradient_fates()[TITLES[name]][settings[LOSS_SCALE.key]].zero


FACTS: dict[str, Callable[[Settings], float | int | str]] = {
    "number": number,
    "rounded": rounded,
    "rounded_ratio": rounded_ratio,
    "number_count": number_count,
    "worst_error": worst_error,
    "largest": lambda settings: _format(settings).max,
    "smallest": lambda settings: _format(settings).min_subnormal,
    "smallest_normal": lambda settings: _format(settings).min_normal,
    "binades": lambda settings: dynamic_range(_format(settings)),
    "share_below_one": share_below_one,
    "values_per_binade": values_per_binade,
    "even_from": even_end(-1),
    "even_to": even_end(1),
    "last_step": lambda settings: _compared(settings, 0).gap_beyond,
    "range_ratio": range_ratio,
    "special_codes": special_codes,
    "e5m2_special_codes": _specials("e5m2"),
    "e4m3_ieee_special_codes": _specials("e4m3_ieee"),
    "e4m3_largest": _of("e4m3", lambda format_: format_.max),
    "e4m3_ieee_largest": _of("e4m3_ieee", lambda format_: format_.max),
    "e4m3_binades": _of("e4m3", dynamic_range),
    "e5m2_binades": _of("e5m2", dynamic_range),
    "bf16_exponent_bits": _of("bf16", lambda format_: format_.exponent_bits),
    **{f"{name}_zero_share": _zero(name) for name in ("bf16", "fp16", "e5m2", "e4m3")},
}
