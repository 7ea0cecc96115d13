"""Neighbors of a code, and the reals that round to it."""

import math
from dataclasses import dataclass

import numpy as np

from fp8core.checks import instance, reals, whole
from fp8core.formats.protocol import Format
from fp8core.rounding import Overflow, Rounding
from fp8core.stochastic import ALMOST_ONE, codes_away

_SMALLEST, _HALF_ULP_OF_ONE = math.ulp(0.0), math.ulp(1.0) / 2


def step(format_: Format, code: int, up: bool) -> int | None:
    """Code of the next larger (`up`) or smaller finite value; None at the end, and for NaN.

    Both codes of zero stand at one place: a step leaves both.
    """
    value = float(format_.decode(whole("a code", code)))
    if math.isinf(value):
        return None if (value > 0) == up else int(format_.encode(value))
    if math.isnan(value):
        return None
    # Strictly between the value and its neighbor: the gap toward zero is a quarter of the ulp or more.
    away = up == (value > 0) or value == 0
    probe = abs(value) + float(format_.ulp(value)) * (0.25 if away else -0.125)
    negative = not up if value == 0 else value < 0
    if negative and not format_.signed:
        return None
    rounding, noise = (Rounding.STOCHASTIC, np.array(ALMOST_ONE)) if away else (Rounding.TOWARD_ZERO, None)
    neighbor = int(format_.encode(math.copysign(probe, -1.0 if negative else 1.0), rounding, noise=noise))
    return None if neighbor == code or float(format_.decode(neighbor)) == value else neighbor


def around(format_: Format, code: int, reach: int) -> list[int]:
    """A finite code with `reach` codes on each side, in the order of their values."""
    whole("reach", reach, 0)
    below, above = [], []
    for codes, up in ((below, False), (above, True)):
        at: int | None = code
        while len(codes) < reach and (at := step(format_, at, up)) is not None:
            codes.append(at)
    return [*below[::-1], code, *above]


@dataclass(frozen=True, kw_only=True)
class Interval:
    """Reals from `low` to `high`, perhaps infinite; a closed end belongs to it."""

    low: float
    high: float
    low_closed: bool
    high_closed: bool


def interval(
    format_: Format, code: int, rounding: Rounding, overflow: Overflow = Overflow.SATURATE
) -> Interval | None:
    """Reals that round to a code, or may stochastically; None if there are none.

    Raises ValueError for an overflow policy without a code.
    """
    value = float(format_.decode(whole("a code", code)))
    instance("rounding", rounding, Rounding)
    instance("overflow", overflow, Overflow)
    if math.isnan(value):
        return None
    if math.isinf(value):
        if overflow is not Overflow.INF:
            return None
        inner = _edge(format_, format_.max, format_.max + format_.gap_beyond, rounding, inner=True)
        ends = (inner, math.inf) if value > 0 else (-math.inf, -inner)
    else:
        ends = (
            _end(format_, code, value, rounding, overflow, up=False),
            _end(format_, code, value, rounding, overflow, up=True),
        )
    low, high = ends
    return Interval(
        low=low,
        high=high,
        low_closed=_belongs(format_, low, code, rounding, overflow),
        high_closed=_belongs(format_, high, code, rounding, overflow),
    )


def _end(format_: Format, code: int, value: float, rounding: Rounding, overflow: Overflow, up: bool) -> float:
    if value == 0 and format_.encode(-0.0) != format_.encode(0.0) and (code != 0) == up:
        return value
    beside = step(format_, code, up)
    if beside is not None:
        return _edge(format_, value, float(format_.decode(beside)), rounding)
    if not up and not format_.signed:
        return 0.0
    if overflow is Overflow.SATURATE:
        return math.inf if up else -math.inf
    return _edge(format_, value, value + (format_.gap_beyond if up else -format_.gap_beyond), rounding)


def _edge(format_: Format, value: float, other: float, rounding: Rounding, inner: bool = False) -> float:
    """Boundary of rounding between two values; from infinity's side if `inner`."""
    match rounding:
        case Rounding.NEAREST_EVEN | Rounding.NEAREST_AWAY:
            return (value + other) / 2
        case Rounding.TOWARD_ZERO:
            return max(value, other, key=abs)
        case Rounding.STOCHASTIC:
            return value if inner else other


def _belongs(format_: Format, end: float, code: int, rounding: Rounding, overflow: Overflow) -> bool:
    if rounding is not Rounding.STOCHASTIC:
        return int(format_.encode(end, rounding, overflow)) == code
    return code in (outcome.code for outcome in outcomes(format_, end, overflow))


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A code that stochastic rounding may give, and its probability with unlimited random bits.

    A probability is 1 only if certain, and never 0: it stays one float64 away from both.
    """

    code: int
    probability: float


def outcomes(format_: Format, x: float, overflow: Overflow = Overflow.SATURATE) -> tuple[Outcome, ...]:
    """Codes that stochastic rounding of x may give, the one nearer zero first."""
    x = float(reals("x", x, ndim=0))
    near = int(format_.encode(x, Rounding.TOWARD_ZERO, overflow))
    low = float(format_.decode(near))
    # A format without zero gives its smallest value to all that lies below: there x is nearer zero than low.
    if not math.isfinite(low) or abs(low) >= abs(x):
        return (Outcome(code=near, probability=1.0),)
    far = int(codes_away(format_, low, x, overflow))
    if far == near:
        return (Outcome(code=near, probability=1.0),)
    high = float(format_.decode(far))
    gap = abs(high - low) if math.isfinite(high) else format_.gap_beyond
    up = min(max(abs(x - low) / gap, _SMALLEST), 1 - _HALF_ULP_OF_ONE)
    return (
        Outcome(code=near, probability=min(1 - up, 1 - _HALF_ULP_OF_ONE)),
        Outcome(code=far, probability=up),
    )
