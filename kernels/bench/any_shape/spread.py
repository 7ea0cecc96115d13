"""Percentiles of a random draw."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor
from statistics import geometric_mean

_TENTH, _HALF = 0.1, 0.5


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Ratios of a draw, summed up: the worst, the 10th percentile, the median, the geometric mean, the
    best.
    """

    count: int
    worst: float
    p10: float
    median: float
    geometric_mean: float
    best: float


def spread(ratios: Iterable[float]) -> Spread | None:
    """Ratios above 0, summed up; None where there are none."""
    sorted_ratios = sorted(ratios)
    if not sorted_ratios:
        return None
    return Spread(
        count=len(sorted_ratios),
        worst=sorted_ratios[0],
        p10=percentile(sorted_ratios, _TENTH),
        median=percentile(sorted_ratios, _HALF),
        geometric_mean=geometric_mean(sorted_ratios),
        best=sorted_ratios[-1],
    )


def percentile(values: Sequence[float], part: float) -> float:
    """The value that a part (0 to 1) of the values lies below, between two values by a straight line.

    Raises ValueError for no values, and for a part outside 0 to 1.
    """
    if not values or not 0 <= part <= 1:
        raise ValueError(f"a percentile needs values and a part from 0 to 1, got {len(values)} and {part!r}")
    ordered = sorted(values)
    place = part * (len(ordered) - 1)
    low = min(floor(place), len(ordered) - 1)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
