"""Exact mean effect of rounding on values between a few neighboring codes."""

import math
from dataclasses import dataclass

import numpy as np

from fp8core.arrays import Float64
from fp8core.checks import whole
from fp8core.formats import Format
from fp8core.stochastic import Debias, chances, moments


def values_around(format_: Format, center: float, steps: int) -> Float64:
    """float64[steps + 1]: neighboring values from 0 on, `center` near their middle.

    Raises ValueError if the format has fewer, or too many to list.
    """
    whole("the number of steps", steps, 1)
    finite = format_.values[np.isfinite(format_.values)]
    values = np.unique(finite[finite >= 0])
    if values.size <= steps:
        raise ValueError(f"{format_.name} has {values.size} values from 0 on, {steps + 1} are needed")
    middle = int(np.searchsorted(values, center, side="right")) - 1
    first = min(max(middle - steps // 2, 0), values.size - 1 - steps)
    return values[first : first + steps + 1]


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Both roundings of each x. `step`: gap around x; `chance`: probability of its upper end."""

    x: Float64
    step: Float64
    nearest: Float64
    chance: Float64
    mean: Float64
    deviation: Float64


def sweep(format_: Format, values: Float64, points: int, bits: int, debias: Debias) -> Sweep:
    """`points` x in each gap between `values`, evenly, from half a spacing above its lower end."""
    whole("the number of points", points, 1)
    shares = (np.arange(points) + 0.5) / points
    step = np.repeat(np.diff(values), points)
    share = np.tile(shares, values.size - 1)
    x = np.repeat(values[:-1], points) + share * step
    exact = moments(format_, x, bits, debias)
    return Sweep(
        x=x,
        step=step,
        nearest=format_.decode(format_.encode(x)),
        chance=np.ldexp(chances(share, bits, debias).astype(np.float64), -bits),
        mean=exact.mean,
        deviation=np.sqrt(exact.variance),
    )


@dataclass(frozen=True, kw_only=True)
class RoundingError:
    """Mean error, largest |E[round(x)] - x| and rms error over a sweep, in steps."""

    mean: float
    worst_bias: float
    rms: float


def nearest_error(s: Sweep) -> RoundingError:
    return _error((s.nearest - s.x) / s.step, np.zeros(s.x.size))


def noisy_error(s: Sweep) -> RoundingError:
    return _error((s.mean - s.x) / s.step, s.deviation / s.step)


def _error(bias: Float64, deviation: Float64) -> RoundingError:
    return RoundingError(
        mean=float(bias.mean()),
        worst_bias=float(np.abs(bias).max()),
        rms=math.sqrt(np.mean(bias**2 + deviation**2)),
    )
