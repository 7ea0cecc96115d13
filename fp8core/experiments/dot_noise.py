"""How the errors of rounded terms add up in a dot product: noise cancels, a bias does not."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fp8core.formats import Format
from fp8core.stochastic import MAX_RANDOM_BITS, round_stochastic


@dataclass(frozen=True, kw_only=True)
class Rounded:
    """|x|, and |x| rounded in two ways. Both roundings treat the two signs alike, so a sign can
    come later.
    """

    exact: NDArray[np.float64]
    nearest: NDArray[np.float64]
    stochastic: NDArray[np.float64]

    def signed(self, signs: NDArray[np.floating]) -> "Rounded":
        return Rounded(
            exact=self.exact * signs, nearest=self.nearest * signs, stochastic=self.stochastic * signs
        )


def rounded(format_: Format, x: NDArray[np.float64], random: NDArray[np.integer]) -> Rounded:
    """Round x in both ways, without a scale. `random` has the shape of x and holds MAX_RANDOM_BITS
    bits each.
    """
    return Rounded(
        exact=x,
        nearest=format_.decode(format_.encode(x)),
        stochastic=round_stochastic(format_, x, random, MAX_RANDOM_BITS),
    )


@dataclass(frozen=True, kw_only=True)
class DotErrors:
    """Relative error of dot products of `terms` terms: rms of the error over rms of the exact result."""

    terms: NDArray[np.int64]
    nearest: NDArray[np.float64]
    stochastic: NDArray[np.float64]


def dot_errors(a: Rounded, b: Rounded, terms: NDArray[np.int64]) -> DotErrors:
    """The errors of one dot product a row of a, b [trials, K], cut off after each of `terms`.

    The sums are in float64; both operands are rounded.
    """
    exact = _partial(a.exact, b.exact, terms)
    size = _rms(exact)
    return DotErrors(
        terms=terms,
        nearest=_rms(_partial(a.nearest, b.nearest, terms) - exact) / size,
        stochastic=_rms(_partial(a.stochastic, b.stochastic, terms) - exact) / size,
    )


def _partial(a: NDArray[np.float64], b: NDArray[np.float64], terms: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.cumsum(a * b, axis=1)[:, terms - 1]


def _rms(error: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.sqrt(np.mean(error**2, axis=0))


def nearest_shrinkage(format_: Format) -> float:
    """E[round(|z|)] / E[|z|] of round-to-nearest for z from N(0, 1), exactly: 1 where nearest has no bias.

    |z| reaches the k-th value where it is beyond the midpoint m below that value. So E = Σ gap · P(|z| > m),
    with P = erfc(m / √2), divided by E[|z|] = √(2/π).
    """
    values = np.unique(np.abs(format_.values[np.isfinite(format_.values)]))
    middles = (values[1:] + values[:-1]) / 2
    beyond = np.array([math.erfc(m / math.sqrt(2)) for m in middles])
    return float(np.diff(values) @ beyond / math.sqrt(2 / math.pi))
