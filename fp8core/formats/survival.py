"""Fates of numbers in a format without a scale: zero, subnormal, normal or overflow."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fp8core.checks import reals
from fp8core.formats.protocol import Format


@dataclass(frozen=True, kw_only=True)
class Fates:
    """Shares of the nonzero numbers by what they round to; they add to one."""

    zero: float
    subnormal: float
    normal: float
    overflow: float


def fates(format_: Format, x: ArrayLike) -> Fates:
    """Shares under rounding to nearest even. A number that rounds to the largest value does not overflow.

    A table format has no subnormals. Raises ValueError for NaN, infinity, all zeros, and negative numbers in
    an unsigned format.
    """
    x = reals("x", x).astype(np.float64, copy=False)
    x = x[x != 0]
    if not x.size or not np.isfinite(x).all():
        raise ValueError(f"fates need at least one nonzero number, all finite, got {x.size} nonzero")
    if not format_.signed and (x < 0).any():
        raise ValueError(f"{format_.name} has no negative numbers, got {x.min():g}")
    beyond = format_.rounds_beyond(x)
    size = np.abs(format_.decode(format_.encode(x)))
    lowest = format_.min_normal
    shares = [size == 0, (size > 0) & (size < lowest) & ~beyond, (size >= lowest) & ~beyond]
    zero, subnormal, normal = (float(share.mean()) for share in shares)
    return Fates(zero=zero, subnormal=subnormal, normal=normal, overflow=float(beyond.mean()))
