"""The effect of a rotation on the quantization error of vectors with outliers, and on their product.

Errors are taken after rotating back, on the original elements. A rotation keeps lengths, so the total error
is equal on either side. Only the elements that carry it change.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fp8core.errors import ErrorParts, rel_err, split_error
from fp8core.formats import Format
from fp8core.quantize import quantize
from fp8core.recipes import OperandSpec
from fp8core.rotations import Rotation
from fp8core.tiles import TileGrid


@dataclass(frozen=True, kw_only=True)
class RotatedValues:
    """Vectors after rotating, quantizing and rotating back: `values` float64[n, size].

    `parts` of the error and `zeros`, the share of codes that are zero, are taken in the rotated frame, in
    which the vectors were quantized.
    """

    values: NDArray[np.float64]
    parts: ErrorParts
    zeros: float


def rotate_and_quantize(
    x: NDArray[np.float32],
    spec: OperandSpec,
    rotation: Rotation | None = None,
    carrier: Format | None = None,
) -> RotatedValues:
    """x float32[n, size] rotated, rounded to `carrier`, quantized in tiles along the last axis, rotated back.

    Without a carrier the rotated numbers are rounded to fp32, which the quantizer takes. Raises ValueError
    where x is all zero.
    """
    rotated = x if rotation is None else rotation.apply(x)
    carried = rotated if carrier is None else carrier.decode(carrier.encode(rotated))
    grid = TileGrid.over(x.shape, (spec.tile.mn, spec.tile.k))
    quantized = quantize(np.asarray(carried, np.float32), grid, spec)
    values = quantized.exact_values()
    parts = split_error(rotated, values, grid.expand(quantized.scale), spec.format)
    return RotatedValues(
        values=values if rotation is None else rotation.undo(values),
        parts=parts,
        zeros=float(np.mean(values == 0)),
    )


@dataclass(frozen=True, kw_only=True)
class VectorError:
    """‖e‖² / ‖x‖² over all elements (`nmse`) and over the elements beside the outliers (`rest_nmse`).

    `rest_nmse` is NaN where those elements are all zero. `zeros` is the share of codes that are zero.
    """

    nmse: float
    rest_nmse: float
    zeros: float


def vector_error(
    x: NDArray[np.float32],
    is_outlier: NDArray[np.bool_],
    spec: OperandSpec,
    rotation: Rotation | None = None,
    carrier: Format | None = None,
) -> VectorError:
    """The error of `rotate_and_quantize`, over all elements and over those beside the outliers."""
    done = rotate_and_quantize(x, spec, rotation, carrier)
    energy = float(np.sum(x[~is_outlier].astype(np.float64) ** 2))
    rest = float(np.sum((done.values - x)[~is_outlier] ** 2))
    return VectorError(
        nmse=rel_err(done.values, x) ** 2,
        rest_nmse=rest / energy if energy else math.nan,
        zeros=done.zeros,
    )


def carrier_error(x: NDArray[np.float32], rotation: Rotation, carrier: Format) -> float:
    """‖e‖² / ‖x‖² of storing the rotated numbers in `carrier`, before anything is quantized."""
    rotated = rotation.apply(x)
    return rel_err(carrier.decode(carrier.encode(rotated)), rotated) ** 2


def product_errors(
    many_a: Iterable[NDArray[np.float32]],
    b: NDArray[np.float32],
    spec: OperandSpec,
    rotation: Rotation | None = None,
) -> tuple[float, ...]:
    """‖D̂ - A Bᵀ‖ / ‖A Bᵀ‖ for each a[M, K] and b[N, K], both quantized, products and sums in float64."""
    b_values = rotate_and_quantize(b, spec, rotation).values
    return tuple(
        rel_err(
            rotate_and_quantize(a, spec, rotation).values @ b_values.T,
            a.astype(np.float64) @ b.astype(np.float64).T,
        )
        for a in many_a
    )


def lower_ranges(
    at: Sequence[float], before: Sequence[float], after: Sequence[float], margin: float = 0.0
) -> tuple[tuple[float, float], ...]:
    """The stretches of `at` where `after` lies below `before` by more than a share `margin`.

    `at` is positive and increasing. The ends of a stretch are the crossings, interpolated on a logarithmic
    axis.
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
