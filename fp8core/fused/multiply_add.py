"""The fused multiply-add of fp32, which numpy lacks: a · b + c, rounded once."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def multiply_add(a: ArrayLike, b: ArrayLike, c: ArrayLike) -> NDArray[np.float32]:
    """float32: a · b + c, rounded once to nearest even, as a GPU's FFMA.

    In float64 the product is exact, and the sum is rounded to odd: no second rounding takes it for a tie.
    Source: Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using
    rounding to odd", IEEE Transactions on Computers 57 (2008).
    """
    a, b, c = (np.asarray(each, np.float32).astype(np.float64) for each in (a, b, c))
    with np.errstate(invalid="ignore", over="ignore"):
        product = a * b
        total = product + c
        # What the sum lost: exact, by Knuth's two-sum.
        other = total - product
        lost = (product - (total - other)) + (c - other)
        even = (total.view(np.int64) & 1) == 0
        inexact = np.isfinite(lost) & (lost != 0)
        odd = np.where(inexact & even, np.nextafter(total, np.copysign(np.inf, lost)), total)
        return odd.astype(np.float32)
