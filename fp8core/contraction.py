"""Rule behind every geometry: a scale leaves the sum where it is constant along K.

    D[m, n] = Σ_k A[m, k] · B[k, n],   A = sA · a,  B = sB · b   (a, b codes; sA, sB constant on a tile)

On a stretch of K with constant scales, sA · sB moves in front of the sum of codes. A tensor core adds only
codes: at the end of each such stretch the partial sum is rescaled.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fp8core.checks import one_length, reals, whole
from fp8core.tiles import WHOLE, Extent


def stretches(k: int, *extents: Extent) -> tuple[range, ...]:
    """Longest intervals of 0..k that cross no tile boundary of any of `extents` along K.

    Raises ValueError for a negative k, and for an extent below 1 that is not WHOLE.
    """
    whole("k", k, 0)
    for extent in extents:
        _check_extent(extent)
    cuts = {0, k}
    for extent in extents:
        if extent is not WHOLE:
            cuts.update(range(0, k, extent))
    marks = sorted(cuts)
    return tuple(range(start, stop) for start, stop in pairwise(marks))


def rescales_per_output(k: int, a: Extent, b: Extent) -> int:
    """Multiplications of an output element by sA · sB: one for each of `stretches(k, a, b)`.

    Raises ValueError where `stretches` does.
    """
    whole("k", k, 0)
    _check_extent(a)
    _check_extent(b)
    if a is WHOLE or b is WHOLE:
        longest = b if a is WHOLE else a
        return min(k, 1) if longest is WHOLE else -(-k // longest)
    # Starts of A's tiles and of B's; those that coincide lie a common multiple apart.
    return -(-k // a) + -(-k // b) - -(-k // math.lcm(a, b))


@dataclass(frozen=True)
class SummedStretch:
    """A stretch that the tensor core sums, and whether each operand's scale is constant on it."""

    k: range
    a_constant: bool
    b_constant: bool

    @property
    def scale_leaves_sum(self) -> bool:
        return self.a_constant and self.b_constant


def summed_stretches(k: int, summed: Extent, a: Extent, b: Extent) -> tuple[SummedStretch, ...]:
    """Stretches of `summed` products each (WHOLE: all of K)."""
    _check_extent(a)
    _check_extent(b)
    return tuple(SummedStretch(part, _constant(part, a), _constant(part, b)) for part in stretches(k, summed))


def _check_extent(extent: Extent) -> None:
    if extent is not WHOLE:
        whole("an extent along K, unless it is WHOLE,", extent, 1)


def _constant(part: range, extent: Extent) -> bool:
    return extent is WHOLE or part.start // extent == (part.stop - 1) // extent


@dataclass(frozen=True, kw_only=True)
class PartialSum:
    """Sum of products of codes on a stretch with constant scales, and the two scales."""

    k: range
    a_scale: float
    b_scale: float
    code_sum: float

    @property
    def value(self) -> float:
        return self.a_scale * self.b_scale * self.code_sum


def partial_sums(
    a_codes: NDArray[np.float64],
    b_codes: NDArray[np.float64],
    a_scale: NDArray[np.float64],
    b_scale: NDArray[np.float64],
    *extents: Extent,
) -> tuple[PartialSum, ...]:
    """Partial sums of one output element, a stretch each.

    Arrays are [K], as in `contract`; `extents` are the tiles' along K. Raises ValueError if a scale changes
    inside a stretch, and for arrays of different lengths.
    """
    a_codes, b_codes, a_scale, b_scale = _vectors(a_codes, b_codes, a_scale, b_scale)
    parts = []
    for part in stretches(a_codes.size, *extents):
        at = slice(part.start, part.stop)
        for name, scale in (("a_scale", a_scale), ("b_scale", b_scale)):
            if not np.array_equal(scale[at], np.broadcast_to(scale[part.start], len(part)), equal_nan=True):
                inside = f"{part.start}…{part.stop - 1}"
                raise ValueError(f"{name} changes inside k = {inside}, got tiles {extents}")
        parts.append(
            PartialSum(
                k=part,
                a_scale=float(a_scale[part.start]),
                b_scale=float(b_scale[part.start]),
                code_sum=float(np.sum(a_codes[at] * b_codes[at])),
            )
        )
    return tuple(parts)


@dataclass(frozen=True, kw_only=True)
class ContractedNumbers:
    """An output element, computed right and with the scales pulled out of every summed stretch."""

    right: float
    pulled_out: float
    right_parts: NDArray[np.float64]
    pulled_out_parts: NDArray[np.float64]


def contract(
    a_codes: NDArray[np.float64],
    b_codes: NDArray[np.float64],
    a_scale: NDArray[np.float64],
    b_scale: NDArray[np.float64],
    *summed: Extent,
) -> ContractedNumbers:
    """Compute Σ_k of one output element from decoded codes [K] and each element's scale [K].

    The tensor core sums the `stretches` of `summed`. `pulled_out` uses the scales of a stretch's first
    element for all of it: once codes are added, nothing else is possible. It equals `right` where the scale
    leaves the sum. Raises ValueError for arrays of different lengths.
    """
    a_codes, b_codes, a_scale, b_scale = _vectors(a_codes, b_codes, a_scale, b_scale)
    parts = stretches(a_codes.size, *summed)
    right = [float(np.sum(a_codes[p] * a_scale[p] * b_codes[p] * b_scale[p])) for p in _slices(parts)]
    pulled_out = [
        float(a_scale[p.start] * b_scale[p.start] * np.sum(a_codes[p] * b_codes[p])) for p in _slices(parts)
    ]
    return ContractedNumbers(
        right=sum(right),
        pulled_out=sum(pulled_out),
        right_parts=np.array(right),
        pulled_out_parts=np.array(pulled_out),
    )


def _vectors(*arrays: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    names = ("a_codes", "b_codes", "a_scale", "b_scale")
    by_name = {name: reals(name, array) for name, array in zip(names, arrays, strict=True)}
    one_length(**by_name)
    return tuple(by_name.values())


def _slices(parts: tuple[range, ...]) -> list[slice]:
    return [slice(part.start, part.stop) for part in parts]
