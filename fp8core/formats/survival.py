"""The fate of numbers in a format without a scale: which vanish, lose bits, survive or overflow."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fp8core.checks import reals
from fp8core.formats.protocol import Format
from fp8core.rounding import Rounding


@dataclass(frozen=True, kw_only=True)
class Fates:
    """Shares of the nonzero numbers by where they round to; the shares add to one.

    A number rounds to zero, to a subnormal number, to a normal number, or beyond the largest value.
    """

    zero: float
    subnormal: float
    normal: float
    overflow: float


def fates(format_: Format, x: ArrayLike, rounding: Rounding = Rounding.NEAREST_EVEN) -> Fates:
    """The shares under a rounding that needs no noise. What rounds to the largest value does not overflow.

    A table format has no subnormal numbers. Raises ValueError for NaN, for infinity and where x has no
    nonzero number. It also refuses negative numbers in a format without a sign.
    """
    x = reals("x", x).astype(np.float64, copy=False)
    x = x[x != 0]
    if not x.size or not np.isfinite(x).all():
        raise ValueError(f"fates need at least one nonzero number, all finite, got {x.size} nonzero")
    if not format_.signed and (x < 0).any():
        raise ValueError(f"{format_.name} has no negative numbers, got {x.min():g}")
    beyond = format_.rounds_beyond(x, rounding)
    size = np.abs(format_.decode(format_.encode(x, rounding)))
    lowest = format_.min_normal
    shares = [size == 0, (size > 0) & (size < lowest) & ~beyond, (size >= lowest) & ~beyond]
    zero, subnormal, normal = (float(share.mean()) for share in shares)
    return Fates(zero=zero, subnormal=subnormal, normal=normal, overflow=float(beyond.mean()))
