"""Rules for a value between two codes, or beyond the last one."""

from enum import Enum

import numpy as np

from fp8core.arrays import Float64
from fp8core.checks import instance, reals


class Rounding(Enum):
    """Choice between a value's neighbors, alike for both signs.

    A tie goes to the even last mantissa bit. Without mantissa bits, ties between powers of two go to the
    larger one (IEEE 754-2019, section 4.3.1), whose code may be odd.
    """

    NEAREST_EVEN = "nearest, ties to the even last bit"
    NEAREST_AWAY = "nearest, ties away from zero"
    TOWARD_ZERO = "toward zero"
    STOCHASTIC = "up with probability equal to the fraction"


class Overflow(Enum):
    """Code of a value beyond the largest finite one, infinities included."""

    SATURATE = "the largest finite value of its sign"
    INF = "infinity"
    NAN = "NaN"


def round_steps(steps: Float64, rounding: Rounding, noise: Float64 | None = None) -> Float64:
    """Round `steps` >= 0, in units of the last place, to whole numbers.

    `noise` in [0, 1), shape of `steps`, decides stochastic rounding: up where fraction + noise >= 1. Raises
    ValueError if it is missing or does not fit.
    """
    instance("rounding", rounding, Rounding)
    if noise is not None:
        noise = reals("noise", noise).astype(np.float64)
        if noise.shape != steps.shape:
            raise ValueError(f"noise has the shape of x, {steps.shape}, got {noise.shape}")
        if noise.size and not (noise.min() >= 0 and noise.max() < 1):
            raise ValueError(f"noise lies in [0, 1), got values from {noise.min()} to {noise.max()}")
    match rounding:
        case Rounding.NEAREST_EVEN:
            return np.rint(steps)
        case Rounding.NEAREST_AWAY:
            floor = np.floor(steps)
            return floor + (steps - floor >= 0.5)
        case Rounding.TOWARD_ZERO:
            return np.floor(steps)
        case Rounding.STOCHASTIC:
            if noise is None:
                raise ValueError("stochastic rounding needs noise in [0, 1) of the shape of x, got none")
            floor = np.floor(steps)
            return floor + (steps - floor + noise >= 1.0)
