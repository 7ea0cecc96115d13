"""Effect of a rotation on the quantization error of vectors with outliers, and on their product.

A rotation keeps lengths: the total error is equal after rotating back, and lies elsewhere.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fp8core.arrays import Bools, Float32, Float64
from fp8core.errors import ErrorParts, split_error
from fp8core.experiments.outliers import OutlierVectors
from fp8core.formats import Format
from fp8core.quantize import quantized_values
from fp8core.recipes import OperandSpec
from fp8core.rotations import Rotation
from fp8core.tiles import TileGrid

_AT_ONCE = 1 << 14
"""Elements quantized at once: more leave the processor's cache."""


@dataclass(frozen=True, kw_only=True)
class VectorError:
    """‖e‖² / ‖x‖² over all elements (`nmse`) and beside the outliers (`rest_nmse`).

    `rest_nmse` is NaN for an all-zero rest. `zeros`: share of zero codes.
    """

    nmse: float
    rest_nmse: float
    zeros: float


@dataclass(frozen=True, kw_only=True)
class Quantized:
    """`numbers` float64[n, size], their `values`, and a scale for each tile of `grid`."""

    numbers: Float64
    values: Float64
    scale: Float32
    grid: TileGrid

    @cached_property
    def error(self) -> Float64:
        return self.values - self.numbers

    @property
    def zeros(self) -> float:
        return (self.values.size - np.count_nonzero(self.values)) / self.values.size

    def parts(self, element: Format) -> ErrorParts:
        return split_error(self.numbers, self.values, self.grid.expand(self.scale), element)


@dataclass(frozen=True, eq=False)
class Frame:
    """Vectors before quantization, rotated or not.

    A rotation is linear: rest and outliers are rotated once for all magnitudes.
    """

    vectors: OutlierVectors
    rotation: Rotation | None = None

    @cached_property
    def linear(self) -> Float64:
        """float64[2, n, size]: the rest, and outliers of magnitude 1."""
        both = np.stack([self.vectors.rest, self.vectors.outliers])
        return both if self.rotation is None else self.rotation.apply(both)

    def exact(self, magnitude: float) -> Float64:
        rest, outliers = self.linear
        return rest + magnitude * outliers

    def at(self, magnitude: float) -> Float64:
        """float64[n, size]: numbers before quantization, in fp32 if not rotated."""
        if self.rotation is None:
            return self.vectors.at(magnitude).astype(np.float64)
        return self.exact(magnitude)

    def quantized(self, magnitude: float, spec: OperandSpec) -> Quantized:
        """Numbers in fp32, quantized in tiles along the last axis."""
        return _quantized(self.at(magnitude), spec)

    def errors(self, magnitudes: Sequence[float], spec: OperandSpec) -> tuple[VectorError, ...]:
        """Errors at each magnitude, of all elements and beside the outliers after rotating back."""
        shape = self.vectors.rest.shape
        together = max(1, _AT_ONCE // self.vectors.rest.size)
        errors: list[VectorError] = []
        for start in range(0, len(magnitudes), together):
            part = magnitudes[start : start + together]
            parts = [self.at(magnitude) for magnitude in part]
            quantized = _quantized(np.concatenate(parts) if len(parts) > 1 else parts[0], spec)
            numbers, values = (x.reshape(len(part), *shape) for x in (quantized.numbers, quantized.values))
            zeros = values[0].size - np.count_nonzero(values, axis=(1, 2))
            error = np.subtract(values, numbers, out=values)
            total = _energies(error)
            rest = self._errors_of_rest(error, total) / (self._energy_of_rest or math.nan)
            rows = zip(total / _energies(numbers), rest, zeros / error[0].size, strict=True)
            errors += [VectorError(nmse=a, rest_nmse=b, zeros=c) for a, b, c in np.array([*rows]).tolist()]
        return tuple(errors)

    @cached_property
    def _is_outlier(self) -> Bools:
        return self.vectors.is_outlier

    @cached_property
    def _energy_of_rest(self) -> float:
        return float(np.sum(self.vectors.rest**2))

    @cached_property
    def _outliers_rows(self) -> Float64:
        assert self.rotation is not None, "these vectors are not rotated"
        n, size = self.vectors.rest.shape
        places = np.nonzero(self._is_outlier)[1]
        units = np.zeros((len(places), size))
        units[np.arange(len(places)), places] = 1.0
        return self.rotation.apply(units).reshape(n, -1, size)

    def _errors_of_rest(self, error: Float64, total: Float64) -> Float64:
        """float64[magnitudes]: ‖e‖² beside the outliers, of error[magnitudes, n, size].

        After rotating back, an element's error is the product with its row: subtracting the outliers' errors
        from the total spares the rest.
        """
        if self.rotation is None:
            of_outliers = error[:, self._is_outlier]
        else:
            of_outliers = self._outliers_rows @ error[..., None]
        return np.maximum(total - _energies(of_outliers), 0.0)


def _quantized(numbers: Float64, spec: OperandSpec) -> Quantized:
    x = numbers.astype(np.float32)
    grid = TileGrid.over(x.shape, (spec.tile.mn, spec.tile.k))
    values, scale = quantized_values(x, grid, spec)
    return Quantized(numbers=numbers, values=values, scale=scale, grid=grid)


def _energies(x: Float64) -> Float64:
    flat = x.reshape(len(x), -1)
    return np.einsum("ij,ij->i", flat, flat)


def product_errors(a: Frame, b: Frame, magnitudes: Iterable[float], spec: OperandSpec) -> tuple[float, ...]:
    """‖D̂ - A Bᵀ‖ / ‖A Bᵀ‖ for a[M, K] at each magnitude and b[N, K], both quantized, in float64.

    Both are in one frame: rotations cancel.
    """
    right = b.quantized(0.0, spec)
    # Â B̂ᵀ - A Bᵀ = (Â - A) B̂ᵀ + A (B̂ - B)ᵀ is one product of matrices side by side.
    of_error, of_truth = _norm_with(np.hstack([right.values, right.error])), _norm_with(right.numbers)
    lefts = (a.quantized(magnitude, spec) for magnitude in magnitudes)
    return tuple(of_error(np.hstack([left.error, left.numbers])) / of_truth(left.numbers) for left in lefts)


def _norm_with(b: Float64) -> Callable[[Float64], float]:
    """a[M, K] → ‖A Bᵀ‖ for b[N, K]; for small K it is <AᵀA, BᵀB>, without an [M, N] product."""
    if b.shape[1] >= len(b):
        return lambda a: float(np.linalg.norm(a @ b.T))
    overlaps = b.T @ b
    return lambda a: math.sqrt(max(float(np.vdot(a.T @ a, overlaps)), 0.0))


def lower_ranges(
    at: Sequence[float], before: Sequence[float], after: Sequence[float], margin: float = 0.0
) -> tuple[tuple[float, float], ...]:
    """Stretches of `at` where `after` is below `before` by more than a share `margin`.

    `at` is positive and increasing. Ends are crossings, interpolated on a logarithmic axis.
    """
    gain = [b * (1 - margin) - a for b, a in zip(before, after, strict=True)]
    ranges, start = [], at[0] if gain and gain[0] > 0 else None
    for i in range(1, len(gain)):
        if (gain[i] > 0) == (gain[i - 1] > 0):
            continue
        share = gain[i - 1] / (gain[i - 1] - gain[i])
        crossing = math.exp((1 - share) * math.log(at[i - 1]) + share * math.log(at[i]))
        if start is None:
            start = crossing
        else:
            ranges.append((start, crossing))
            start = None
    if start is not None:
        ranges.append((start, at[-1]))
    return tuple(ranges)
