"""A format's values from 0 up, as a lookup table for many numbers at once.

Every value has few significant bits, so a number's upper float64 bits tell its two neighbors: a lookup takes
a tenth of the time of encoding.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from fp8core.arrays import Float64, Intp

_KEPT = 24
_MOST_BITS, _MOST_KEYS = 16, 1 << 17
_FP64_MANTISSA = 52


class Grid(Hashable, Protocol):
    @property
    def values(self) -> Float64: ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Ladder:
    """`steps` and the `gaps` above them, float64[n]; the last gap is 1.

    `is_symmetric`: negative values are these with the other sign. `has_minus_zero`: so is 0.
    """

    steps: Float64
    gaps: Float64
    is_symmetric: bool
    has_minus_zero: bool
    _place: Intp
    _first: int
    _shift: int

    @property
    def top(self) -> float:
        return float(self.steps[-1])

    def below(self, sizes: Float64) -> Intp:
        """intp, shape of sizes: last step at or below each size >= 0, not NaN."""
        keys = (sizes.view(np.int64) >> self._shift) - self._first
        return self._place[np.clip(keys, 0, self._place.size - 1)]


@lru_cache(maxsize=_KEPT)
def ladder(grid: Grid) -> Ladder | None:
    """Ladder of a format; None without 0, or with too many values for a table."""
    if getattr(grid, "bits", 0) > _MOST_BITS:
        return None
    finite = grid.values[np.isfinite(grid.values)]
    steps = np.unique(finite[finite >= 0])
    if steps.size < 2 or steps[0] != 0:
        return None
    bits = np.abs(steps[1:]).view(np.int64)
    every = int(np.bitwise_or.reduce(bits)) | 1 << _FP64_MANTISSA
    shift = (every & -every).bit_length() - 1
    keys = bits >> shift
    first = int(keys[0]) - 1
    count = int(keys[-1]) - first + 1
    if count > _MOST_KEYS:
        return None
    negative = np.unique(-finite[finite < 0])
    zeros = finite[finite == 0]
    return Ladder(
        steps=np.abs(steps),
        gaps=np.append(np.diff(steps), 1.0),
        is_symmetric=np.array_equal(negative, steps[1:]),
        has_minus_zero=bool(np.signbit(zeros).any()),
        _place=np.searchsorted(keys, first + np.arange(count), side="right").astype(np.intp),
        _first=first,
        _shift=shift,
    )


def signed(sizes: Float64, like: ArrayLike, has_minus_zero: bool) -> Float64:
    values = np.copysign(sizes, like)
    return values if has_minus_zero else values + 0.0
