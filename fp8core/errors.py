"""Measures of a result's distance from the truth."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fp8core.arrays import Float64, Floats
from fp8core.checks import reals
from fp8core.formats import Format


def rel_err(result: ArrayLike, truth: ArrayLike) -> float:
    """‖result - truth‖ / ‖truth‖ (Frobenius), in float64; 0 for equal arrays, also zeros."""
    result = reals("result", result).astype(np.float64, copy=False)
    truth = reals("truth", truth).astype(np.float64, copy=False)
    if result.shape != truth.shape:
        raise ValueError(f"rel_err compares arrays of one shape, got {result.shape} and {truth.shape}")
    error, size = np.linalg.norm(result - truth), np.linalg.norm(truth)
    return 0.0 if error == 0 else float(np.divide(error, size)) if size else math.inf


def sqnr_db(rel_err: float) -> float:
    """Signal to quantization noise ratio in dB: -20 log10(rel_err); inf for 0, NaN for NaN.

    Raises ValueError for a negative error.
    """
    if reals("a relative error", rel_err, ndim=0) < 0:
        raise ValueError(f"a relative error is at least 0, got {rel_err}")
    return math.inf if rel_err == 0 else -20.0 * math.log10(rel_err)


def energy_of(squares: Float64) -> float:
    """‖x‖² out of the squares of x. Raises ValueError if an error of x has no parts."""
    energy = float(np.sum(squares))
    if not np.isfinite(energy):
        raise ValueError("the parts of an error need finite numbers, got NaN or infinity in x")
    if energy == 0:
        raise ValueError("the error of an all-zero tensor has no parts: it is zero")
    return energy


@dataclass(frozen=True, kw_only=True)
class ErrorParts:
    """Shares of the squared error ‖e‖² / ‖x‖², disjoint by element, and the elements of each.

    saturation: x / scale rounds beyond the largest value; deadzone: x is not zero but its code is; grid: the
    rest.
    """

    saturation: float
    deadzone: float
    grid: float
    saturated: int
    dead: int

    @property
    def total(self) -> float:
        return self.saturation + self.deadzone + self.grid


def split_error(x: Floats, values: Floats, scale: ArrayLike, format_: Format) -> ErrorParts:
    """Split the error of `values`, which are x quantized with `scale` (broadcast to x).

    An element saturates if x / scale, rounded to nearest even, lies beyond the format's last value on its
    side. Raises ValueError for all-zero x, for NaN or infinity in x, and for shapes that differ.
    """
    x, values = reals("x", x).astype(np.float64), reals("values", values).astype(np.float64)
    if x.shape != values.shape:
        raise ValueError(f"x and values have one shape, got {x.shape} and {values.shape}")
    energy = energy_of(x**2)
    squared = (values - x) ** 2 / energy
    with np.errstate(over="ignore"):
        saturated = format_.rounds_beyond(x / reals("scale", scale).astype(np.float64))
    dead = (values == 0) & (x != 0)
    return ErrorParts(
        saturation=float(squared[saturated].sum()),
        deadzone=float(squared[dead].sum()),
        grid=float(squared[~saturated & ~dead].sum()),
        saturated=int(saturated.sum()),
        dead=int(dead.sum()),
    )
