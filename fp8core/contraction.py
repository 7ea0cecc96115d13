"""Rule behind every geometry: a scale leaves the sum where it is constant along K.

    D[m, n] = Σ_k A[m, k] · B[k, n],   A = sA · a,  B = sB · b   (a, b codes; sA, sB constant on a tile)

On a stretch of K with constant scales, sA · sB moves in front of the sum of codes. A tensor core adds only
codes: at the end of each such stretch the partial sum is rescaled.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fp8core.arrays import Float64
from fp8core.checks import reals, whole
from fp8core.tiles import WHOLE, Extent, check_extent


def stretches(k: int, *extents: Extent) -> tuple[range, ...]:
    """Longest intervals of 0..k that cross no tile boundary of any of `extents` along K.

    Raises ValueError for a negative k, and for an extent below 1 that is not WHOLE.
    """
    whole("k", k, 0)
    _check_extents(*extents)
    cuts = {0, k}.union(*(range(0, k, extent) for extent in extents if extent is not WHOLE))
    return tuple(range(start, stop) for start, stop in pairwise(sorted(cuts)))


def rescales_per_output(k: int, a: Extent, b: Extent) -> int:
    """Multiplications of an output element by sA · sB: one for each of `stretches(k, a, b)`.

    Raises ValueError where `stretches` does.
    """
    whole("k", k, 0)
    _check_extents(a, b)
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
    _check_extents(a, b)
    return tuple(SummedStretch(part, _constant(part, a), _constant(part, b)) for part in stretches(k, summed))


def _check_extents(*extents: Extent) -> None:
    for extent in extents:
        check_extent("an extent along K", extent)


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
    a_codes: Float64, b_codes: Float64, a_scale: Float64, b_scale: Float64, *extents: Extent
) -> tuple[PartialSum, ...]:
    """Partial sums of one output element, a stretch each.

    Arrays are [K], as in `contract`; `extents` are the tiles' along K. Raises ValueError if a scale changes
    inside a stretch, and for arrays of different lengths.
    """
    a_codes, b_codes, a_scale, b_scale = vectors = _vectors(a_codes, b_codes, a_scale, b_scale)
    parts = _parts(vectors, extents)
    for part in parts:
        for name, scale in (("a_scale", a_scale), ("b_scale", b_scale)):
            here = scale[_slice(part.k)]
            if not np.array_equal(here, np.broadcast_to(here[0], here.shape), equal_nan=True):
                inside = f"{part.k.start}…{part.k.stop - 1}"
                raise ValueError(f"{name} changes inside k = {inside}, got tiles {extents}")
    return parts


def _parts(vectors: tuple[Float64, ...], extents: tuple[Extent, ...]) -> tuple[PartialSum, ...]:
    """Sums of a stretch each, with the scales of its first element."""
    a_codes, b_codes, a_scale, b_scale = vectors
    return tuple(
        PartialSum(
            k=part,
            a_scale=float(a_scale[part.start]),
            b_scale=float(b_scale[part.start]),
            code_sum=float(np.sum(a_codes[_slice(part)] * b_codes[_slice(part)])),
        )
        for part in stretches(a_codes.size, *extents)
    )


@dataclass(frozen=True, kw_only=True)
class ContractedNumbers:
    """An output element, computed right and with the scales pulled out of every summed stretch."""

    right: float
    pulled_out: float
    right_parts: Float64
    pulled_out_parts: Float64


def contract(
    a_codes: Float64, b_codes: Float64, a_scale: Float64, b_scale: Float64, *summed: Extent
) -> ContractedNumbers:
    """Compute Σ_k of one output element from decoded codes [K] and each element's scale [K].

    The tensor core sums the `stretches` of `summed`. `pulled_out` uses the scales of a stretch's first
    element for all of it: once codes are added, nothing else is possible. It equals `right` where the scale
    leaves the sum. Raises ValueError for arrays of different lengths.
    """
    a_codes, b_codes, a_scale, b_scale = vectors = _vectors(a_codes, b_codes, a_scale, b_scale)
    parts = _parts(vectors, summed)
    every = a_codes * a_scale * b_codes * b_scale
    right = [float(np.sum(every[_slice(part.k)])) for part in parts]
    pulled_out = [part.value for part in parts]
    return ContractedNumbers(
        right=sum(right),
        pulled_out=sum(pulled_out),
        right_parts=np.array(right),
        pulled_out_parts=np.array(pulled_out),
    )


def _vectors(*arrays: Float64) -> tuple[Float64, ...]:
    names = ("a_codes", "b_codes", "a_scale", "b_scale")
    vectors = tuple(map(reals, names, arrays))
    shapes = [array.shape for array in vectors]
    if len(set(shapes)) != 1 or len(shapes[0]) != 1:
        words = ", ".join(f"{name} {list(shape)}" for name, shape in zip(names, shapes, strict=True))
        raise ValueError(f"these are arrays of shape [K] with one K, got {words}")
    return vectors


def _slice(part: range) -> slice:
    return slice(part.start, part.stop)
