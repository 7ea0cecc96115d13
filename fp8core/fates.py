"""What becomes of numbers in a format without a scale: which vanish, lose bits, survive or overflow."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fp8core.float_format import Format
from fp8core.rounding import Overflow


@dataclass(frozen=True, kw_only=True)
class Fates:
    """Shares of the nonzero numbers, which add to one: rounded to zero, to a subnormal number, to a normal
    number, or beyond the largest value.
    """

    zero: float
    subnormal: float
    normal: float
    overflow: float


def fates(format_: Format, x: ArrayLike) -> Fates:
    """The shares under nearest even. Raises ValueError where x has no nonzero number, or NaN or infinity."""
    x = np.asarray(x, np.float64)
    x = x[x != 0]
    if not x.size or not np.isfinite(x).all():
        raise ValueError(f"fates need at least one nonzero number, all finite, got {x.size} nonzero")
    beyond = np.abs(x) > format_.max
    told = next((o for o in format_.overflows if o is not Overflow.SATURATE), None)
    if told is not None:
        beyond = ~np.isfinite(format_.decode(format_.encode(x, overflow=told)))
    size = np.abs(format_.decode(format_.encode(x)))
    shares = [size == 0, (size > 0) & (size < format_.min_normal), (size >= format_.min_normal) & ~beyond]
    zero, subnormal, normal = (float(share.mean()) for share in shares)
    return Fates(zero=zero, subnormal=subnormal, normal=normal, overflow=float(beyond.mean()))
