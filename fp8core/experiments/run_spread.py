"""Spread of equal runs with different seeds, and the worth of a difference.

A run's last loss is Gaussian around its recipe's mean. Quantiles come from densities by quadrature and
bisection.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist, fmean, stdev

import numpy as np

from fp8core.checks import real, whole

SURE, POWER = 0.95, 0.8
"""Confidence, and the share of true differences to be found."""
_NODES = 96
_HALVINGS = 60


@dataclass(frozen=True, kw_only=True)
class Gap:
    """Difference of a recipe's mean from the reference's, in % of the latter.

    `error`: half width of its interval, which holds the truth in SURE of all cases. `low`, `high`: range of
    the recipe's own `runs`.
    """

    percent: float
    error: float
    low: float
    high: float
    runs: int

    @property
    def is_clear(self) -> bool:
        return abs(self.percent) > self.error


def gap(values: Sequence[float], reference: Sequence[float]) -> Gap:
    """Gap of some runs. The reference's spread counts for both: few runs show little of their own.

    Raises ValueError for no value, and for fewer than 2 of the reference.
    """
    if not values or len(reference) < 2:
        raise ValueError(f"a gap needs 1 run and 2 of the reference, got {len(values)} and {len(reference)}")
    mean = fmean(reference)
    each = [100 * (value / mean - 1) for value in values]
    spread = 100 * stdev(reference) / mean
    factor = student_quantile((1 + SURE) / 2, len(reference) - 1)
    error = factor * spread * math.sqrt(1 / len(values) + 1 / len(reference))
    return Gap(percent=fmean(each), error=error, low=min(each), high=max(each), runs=len(each))


def paired_gap(differences: Sequence[float], spread: float, freedom: int) -> Gap:
    """Gap of runs, each in % above the reference's run of the same seed.

    `spread`: their standard deviation, with `freedom` degrees of freedom. Raises ValueError for no
    difference.
    """
    if not differences:
        raise ValueError("a gap of pairs needs a pair, got none")
    error = student_quantile((1 + SURE) / 2, freedom) * spread / math.sqrt(len(differences))
    return Gap(
        percent=fmean(differences),
        error=error,
        low=min(differences),
        high=max(differences),
        runs=len(differences),
    )


def spread_percent(values: Sequence[float]) -> float:
    """Standard deviation of runs in % of their mean. Raises ValueError for fewer than 2."""
    if len(values) < 2:
        raise ValueError(f"a spread needs 2 runs, got {len(values)}")
    return 100 * stdev(values) / fmean(values)


def pooled_spread(kinds: Sequence[Sequence[float]]) -> tuple[float, int]:
    """Standard deviation within kinds of runs, and its degrees of freedom.

    Raises ValueError if no kind has two runs.
    """
    freedom = sum(len(each) - 1 for each in kinds if each)
    if freedom < 1:
        raise ValueError(f"a spread within kinds needs a kind of 2 runs, got {[len(each) for each in kinds]}")
    squares = sum((value - fmean(each)) ** 2 for each in kinds if each for value in each)
    return math.sqrt(squares / freedom), freedom


def spread_interval(spread: float, runs: int) -> tuple[float, float]:
    """Interval of the true standard deviation in SURE of all cases, from `runs` runs."""
    freedom = whole("the number of runs", runs, 2) - 1
    low, high = (chi_square_quantile(p, freedom) for p in ((1 + SURE) / 2, (1 - SURE) / 2))
    return spread * math.sqrt(freedom / low), spread * math.sqrt(freedom / high)


def runs_needed(spread: float, difference: float) -> int:
    """Runs of each of two recipes that show a difference of means in POWER of all cases.

    n = 2 · (z + z')² · (spread / difference)², rounded up, with quantiles z of (1 + SURE) / 2 and z' of
    POWER. Raises ValueError for a difference that is not above 0.
    """
    real("a spread", spread, 0)
    real("a difference", difference, above=0)
    return max(1, math.ceil(factor() * (spread / difference) ** 2))


def factor() -> float:
    """2 · (z + z')², for a difference of one standard deviation."""
    normal = NormalDist()
    return 2 * (normal.inv_cdf((1 + SURE) / 2) + normal.inv_cdf(POWER)) ** 2


@lru_cache(maxsize=64)
def student_quantile(share: float, freedom: int) -> float:
    """Quantile `share` (0.5 to 1, excluded) of Student's t with `freedom` degrees."""
    whole("the degrees of freedom", freedom, 1)
    log = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(math.pi) / 2

    def below(angle: float) -> float:
        # With t = √freedom · tan(angle) the density is a power of the cosine.
        return 0.5 + math.exp(log) * _integral(lambda u: np.cos(u) ** (freedom - 1), angle)

    return math.sqrt(freedom) * math.tan(_where(below, share, math.pi / 2))


@lru_cache(maxsize=64)
def chi_square_quantile(share: float, freedom: int) -> float:
    """Quantile `share` of chi-square with `freedom` degrees."""
    whole("the degrees of freedom", freedom, 1)
    log = (1 - freedom / 2) * math.log(2) - math.lgamma(freedom / 2)

    def below(root: float) -> float:
        return math.exp(log) * _integral(lambda u: u ** (freedom - 1) * np.exp(-(u**2) / 2), root)

    return _where(below, share, math.sqrt(freedom) + 12) ** 2


def _integral(density: Callable[[np.ndarray], np.ndarray], end: float) -> float:
    nodes, weights = _rule()
    return float(end / 2 * np.dot(weights, density(end / 2 * (nodes + 1))))


@lru_cache(maxsize=1)
def _rule() -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(_NODES)


def _where(below: Callable[[float], float], share: float, high: float) -> float:
    """Argument from 0 to `high` at which a rising function is `share`."""
    low = 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < share else (low, middle)
    return (low + high) / 2
