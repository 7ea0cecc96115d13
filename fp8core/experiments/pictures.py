"""Pictures as numbers to round, in light: an eye that looks from afar averages light, not bytes.

A byte follows the sRGB curve (IEC 61966-2-1). Rounding, blurring and errors are in light, 0 black to 1 white.
"""

import math
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from fp8core.arrays import Float32, Float64, Floats, Integers, UInt8
from fp8core.checks import real, whole
from fp8core.formats import Format, TableFormat
from fp8core.stochastic import MAX_RANDOM_BITS, round_stochastic

Picture = Floats

_WHITE = 255
_BLUR_REACH = 4
_WEIGHTS_KEPT = 24
_PATTERNS_KEPT = 100
_VISIBLE = 1e-5
"""Least share of a pattern after a blur that counts."""


def to_light(values: ArrayLike) -> Picture:
    share = np.asarray(values, np.float64) / _WHITE
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def to_bytes(light: ArrayLike) -> UInt8:
    light = np.clip(np.asarray(light, np.float64), 0.0, 1.0)
    share = np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)
    return np.rint(share * _WHITE).astype(np.uint8)


def levels(count: int) -> TableFormat:
    """Whole numbers below `count` as a number format: equal gray levels up to white, at least 2."""
    whole("the number of levels", count, 2)
    return TableFormat(
        name=f"{count} levels",
        table=tuple(map(float, range(count))),
        gap_beyond=1.0,
        layouts=("I" * (count - 1).bit_length(),) * count,
        rule="The bits are a whole number.",
    )


def round_nearest(light: Picture, grid: Format) -> Picture:
    """Round each pixel to the grid, whose largest value is white."""
    return grid.rounded(light * grid.max) / grid.max


def round_noisy(light: Picture, grid: Format, random: Integers) -> Picture:
    """Round each pixel stochastically to the grid. `random`: MAX_RANDOM_BITS bits a pixel."""
    return round_stochastic(grid, light * grid.max, random, MAX_RANDOM_BITS) / grid.max


def blur(picture: Picture, sigma: float) -> Picture:
    """Gaussian blur of `sigma` pixels; 0 changes nothing.

    Weights end at 4 sigma, and pixels inside the picture share them at an edge. float32 stays float32,
    several times as fast. Raises ValueError for a sigma below 0.
    """
    if real("sigma", sigma, 0) == 0:
        return picture
    rows, columns = picture.shape
    down, across = (_weights(size, sigma).astype(picture.dtype) for size in (rows, columns))
    return down @ picture @ across.T


@lru_cache(maxsize=_WEIGHTS_KEPT)
def _weights(size: int, sigma: float) -> Float64:
    away = np.abs(np.arange(size)[:, None] - np.arange(size))
    weights = np.where(away <= _BLUR_REACH * sigma, np.exp(-((away / sigma) ** 2) / 2), 0.0)
    weights /= weights.sum(axis=1, keepdims=True)
    weights.flags.writeable = False
    return weights


def blurred_rms(error: Picture, sigmas: Iterable[float]) -> tuple[float, ...]:
    """Root of the mean square of an error after each blur.

    A wide blur leaves few patterns of rows and columns visible, and only their sizes count.
    """
    error, sizes = error.astype(np.float32), []
    for sigma in sigmas:
        blurred = error
        if sigma:
            down, across = (_patterns(size, sigma) for size in error.shape)
            blurred = (down @ error) @ across.T
        sizes.append(math.sqrt(float(np.vdot(blurred, blurred)) / error.size))
    return tuple(sizes)


@lru_cache(maxsize=_PATTERNS_KEPT)
def _patterns(size: int, sigma: float) -> Float32:
    """float32[visible, size]: patterns that a blur leaves visible, at their size.

    Rows R have RᵀR = WᵀW of the blur's weights W, without the invisible ones.
    """
    weights = _weights(size, sigma)
    squares, patterns = np.linalg.eigh(weights.T @ weights)
    visible = squares > squares[-1] * _VISIBLE**2
    rows = (np.sqrt(squares[visible]) * patterns[:, visible]).T.astype(np.float32)
    rows.flags.writeable = False
    return rows
