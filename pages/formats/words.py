"""Sentences about one code; every figure in them comes from the format."""

import math

import numpy as np

from fp8core.formats import FORMATS, Format
from fp8core.formats.float_format import FloatFormat
from fp8core.formats.number_line import Interval, Outcome
from fp8core.formats.spelling import Kind, spell
from fp8core.rounding import Overflow, Rounding
from pages.formats.charts.words import hexadecimal, number, power_or_number
from pages.kit.charts.words import percent_text

_LONG = 17


def notice(format_: Format, code: int, typed: float | None, outcomes: tuple[Outcome, ...]) -> str:
    """The code that the number becomes."""
    if typed is None:
        return f"**Code {hexadecimal(code, format_)} is {_named(format_, code)}.**"
    if len(outcomes) > 1:
        return _stochastic(format_, typed, outcomes)
    return _rounded(format_, typed, float(format_.decode(code)))


def _named(format_: Format, code: int) -> str:
    spelling, value = spell(format_, code), float(format_.decode(code))
    match spelling.kind:
        case Kind.NAN:
            return "NaN, not a number"
        case Kind.INFINITY | Kind.ZERO | Kind.NORMAL | Kind.INTEGER:
            return number(value)
        case Kind.MINUS_ZERO:
            return "−0, which equals 0"
        case Kind.SUBNORMAL:
            return f"{number(value)}, a subnormal: its leading bit is 0, so it has fewer significant bits"


def _rounded(format_: Format, typed: float, value: float) -> str:
    if math.isnan(typed):
        return "**NaN stays NaN.**"
    head, same = f"**{number(typed)} becomes {number(value)}**", typed == value
    if same and math.copysign(1.0, typed) != math.copysign(1.0, value):
        return f"{head}: {format_.name} has no minus zero."
    if same:
        return f"**{number(typed)} is a value of {format_.name}**, kept exactly."
    if typed < 0 and not format_.signed:
        return f"{head}: it is negative, and {format_.name} has no sign."
    if not format_.signed and typed < format_.min_subnormal:
        return f"{head}, the smallest value: {format_.name} has no zero."
    low, high = ends(format_)
    if not low <= typed <= high:
        end = f"the largest value, {number(high)}" if typed > high else f"the lowest value, {number(low)}"
        return f"{head}: it lies beyond {end}{_saturates(format_, typed, value)}."
    if value == 0:
        return f"{head}: too small for {format_.name}, it vanishes."
    off = abs(value) / abs(typed) - 1
    return f"{head}, {percent_text(abs(off))} too {'large' if off > 0 else 'small'}."


def ends(format_: Format) -> tuple[float, float]:
    """The lowest and the largest finite value; a format without a sign starts at its smallest one."""
    low = -math.inf if format_.signed else 0.0
    return float(format_.decode(format_.encode(low))), format_.max


def _saturates(format_: Format, typed: float, value: float) -> str:
    """Words for a number too far out to round to the last value without saturation."""
    too_far = abs(value) + format_.gap_beyond
    return ", and saturates" if math.isfinite(value) and abs(typed) >= too_far else ""


def probability(value: float) -> str:
    """A probability with four digits; one that is nearly 0 or 1 is not printed as certain."""
    shown = f"{value:.4g}"
    if shown == "1" and value < 1:
        return f"1 − {1 - value:.2g}"
    return shown


def _stochastic(format_: Format, typed: float, outcomes: tuple[Outcome, ...]) -> str:
    parts = [
        f"{number(float(format_.decode(o.code)))} with probability {probability(o.probability)}"
        for o in outcomes
    ]
    values = [float(format_.decode(o.code)) for o in outcomes]
    mean = sum(o.probability * v for o, v in zip(outcomes, values, strict=True))
    tail = f": on average {number(mean, 6)}" if math.isfinite(mean) else ""
    return f"**{number(typed)} becomes {' or '.join(parts)}**{tail}."


def reals(
    format_: Format, code: int, interval: Interval | None, rounding: Rounding, overflow: Overflow
) -> str:
    """The other numbers that become this code, in a sentence."""
    if interval is None:
        takers = _takers(format_, code, overflow)
        return f"{takers} this code." if takers else "No real number rounds to this code."
    verb = "may become" if rounding is Rounding.STOCHASTIC else "becomes"
    low, high = number(interval.low, _LONG), number(interval.high, _LONG)
    if interval.low_closed == interval.high_closed:
        included = "both ends included" if interval.low_closed else "both ends excluded"
    else:
        first, second = (low, high) if interval.low_closed else (high, low)
        included = f"{first} included, {second} not"
    return f"Every real from {low} to {high} {verb} this code ({included})."


def _takers(format_: Format, code: int, overflow: Overflow) -> str:
    """The reals behind a code without an interval, with their verb; empty where there are none."""
    if overflow is Overflow.NAN:
        low, high = ends(format_)
        beyond = {int(format_.encode(math.inf, overflow=overflow)): f"the largest value, {number(high)},"}
        if format_.signed:
            lowest = int(format_.encode(-math.inf, overflow=overflow))
            both = f"the largest value, {number(high)}, or the lowest, {number(low)},"
            beyond[lowest] = both if lowest in beyond else f"the lowest value, {number(low)},"
        if code in beyond and format_.signed:
            return f"Every real that rounds beyond {beyond[code]} becomes"
        if code in beyond:
            return f"Every real that rounds beyond {beyond[code]} and every negative one become"
    if not format_.signed and code == int(format_.encode(-1.0)):
        return "Every negative real becomes"
    return ""


def facts(format_: Format) -> str:
    """The format in a line."""
    name = f"**{format_.name}**"
    ends = f"largest {power_or_number(format_.max)}, smallest {power_or_number(format_.min_subnormal)}"
    if not isinstance(format_, FloatFormat):
        return f"{name}: {format_.bits} bits; {ends}. {format_.rule}{_lopsided(format_)}{_no_nan(format_)}"
    parts = [f"{format_.exponent_bits} exponent", f"{format_.mantissa_bits} mantissa"]
    if format_.signed:
        parts.insert(0, "1 sign")
    normal = f"smallest normal {power_or_number(format_.min_normal)}"
    specials = format_.specials.value
    bits = f"{' + '.join(parts)} bits, bias {format_.bias}"
    return f"{name}: {bits}; {ends}, {normal}. Specials: {specials}.{_no_nan(format_)}"


def _lopsided(format_: Format) -> str:
    """A sentence on a lowest value without an opposite; empty where both signs reach equally far."""
    low, high = ends(format_)
    lowest = float(format_.decode(np.arange(1 << format_.bits)).min()) if format_.signed else low
    if not lowest < -high:
        return ""
    return (
        f" Its lowest value, {number(lowest)}, has no opposite: the largest is {number(high)}. Some code, "
        "such as microxcaling, leaves it unused, so that both signs reach equally far."
    )


def _no_nan(format_: Format) -> str:
    """A sentence on where NaN goes; empty for a format that has a code for it."""
    if format_.nan_code is not None:
        return ""
    scale = FORMATS["e8m0"]
    return (
        " No code is NaN or infinity: under MX, the scale of the block says it, with its code "
        f"{hexadecimal(scale.nan_code, scale)}. A cast without such a scale makes a finite number of NaN."
    )


def sentence(refused: ValueError) -> str:
    """The text of an error, as a sentence."""
    words = str(refused).rstrip(".")
    return f"{words[:1].upper()}{words[1:]}."
