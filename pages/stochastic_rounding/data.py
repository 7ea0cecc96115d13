"""The data of the page "Stochastic rounding", computed by `fp8core` and kept between runs.

A kept function depends only on its arguments: names and numbers, nothing of the session. A value
that it keeps has at most a megabyte.
"""

import math
from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from fp8core.experiments.dot_noise import DotErrors, Unrounded, dot_errors, nearest_shrinkage
from fp8core.experiments.pictures import (
    Levels,
    Picture,
    PixelGrid,
    blur,
    blurred_rms,
    round_nearest,
    round_noisy,
    to_bytes,
)
from fp8core.experiments.rounding_sweep import (
    RoundingError,
    Sweep,
    nearest_error,
    noisy_error,
    sweep,
    values_around,
)
from fp8core.experiments.weight_updates import Pull, walk
from fp8core.formats import FORMATS
from fp8core.stochastic import MAX_RANDOM_BITS, Debias
from kernels.paths import ASSETS
from pages.stochastic_rounding.charts.noise import Path
from pages.stochastic_rounding.controls import LARGEST_BLUR, LEVELS_OF_GRAY
from pages.stochastic_rounding.upload import GrayPicture, decode

KEPT, KEPT_PICTURES = 64, 16
MYSTERY = ASSETS / "mystery.png"
GAPS, DRAWN_POINTS, COUNTED_POINTS = 4, 160, 1000
START, RUNS = 1.0, 64
SINGLE_RUNS, _STEPS = 4, 200
"""Runs that are drawn one by one, and steps of a path at most."""
TRIALS, TERMS = 40, tuple(1 << power for power in range(2, 13))


@st.cache_resource(show_spinner=False)
def mystery() -> GrayPicture:
    return decode("The mystery picture", MYSTERY.read_bytes())


@dataclass(frozen=True, kw_only=True)
class RoundedPicture:
    """Both roundings of a picture, and their rms errors after each blur from 0 pixels on."""

    nearest: Picture
    noisy: Picture
    nearest_rms: tuple[float, ...]
    noisy_rms: tuple[float, ...]


@st.cache_resource(max_entries=KEPT_PICTURES, show_spinner=False)
def rounded_picture(digest: str, _light: Picture, pixels: str, levels: int, seed: int) -> RoundedPicture:
    """Both roundings of the picture with this `digest`, to a grid of pixel values."""
    random = np.random.default_rng(seed).integers(0, 1 << MAX_RANDOM_BITS, _light.shape)
    noisy = round_noisy(_light, _grid(pixels, levels), random)
    nearest, nearest_rms = _to_nearest(digest, _light, pixels, levels)
    return RoundedPicture(
        nearest=nearest, noisy=noisy, nearest_rms=nearest_rms, noisy_rms=_error(noisy, _light)
    )


@st.cache_resource(max_entries=KEPT_PICTURES, show_spinner=False)
def _to_nearest(digest: str, _light: Picture, pixels: str, levels: int) -> tuple[Picture, tuple[float, ...]]:
    """The picture rounded to nearest, and its rms errors: no seed changes them."""
    nearest = round_nearest(_light, _grid(pixels, levels))
    return nearest, _error(nearest, _light)


def _grid(pixels: str, levels: int) -> PixelGrid:
    return Levels(levels) if pixels == LEVELS_OF_GRAY else FORMATS[pixels]


def _error(picture: Picture, light: Picture) -> tuple[float, ...]:
    """A blur is linear: the error of the blurred pictures is the blurred error."""
    return blurred_rms(picture - light, range(LARGEST_BLUR + 1))


@st.cache_resource(max_entries=KEPT, show_spinner=False)
def blurred_bytes(name: tuple[str | int, ...], _picture: Picture, sigma: int) -> NDArray[np.uint8]:
    """The bytes of a picture blurred by `sigma` pixels; `name` tells it from all others."""
    return to_bytes(blur(_picture.astype(np.float32), sigma))


@dataclass(frozen=True, kw_only=True)
class MeanView:
    """A sweep to draw, and the errors over a finer one: of nearest, and of each variant of the low bits."""

    values: NDArray[np.float64]
    drawn: Sweep
    nearest: RoundingError
    noisy: dict[Debias, RoundingError]


@st.cache_data(max_entries=KEPT, show_spinner=False)
def mean_view(name: str, around: float, bits: int, debias: Debias) -> MeanView:
    format_ = FORMATS[name]
    values = values_around(format_, around, GAPS)
    fine = {variant: sweep(format_, values, COUNTED_POINTS, bits, variant) for variant in Debias}
    return MeanView(
        values=values,
        drawn=sweep(format_, values, DRAWN_POINTS, bits, debias),
        nearest=nearest_error(fine[debias]),
        noisy={variant: noisy_error(s) for variant, s in fine.items()},
    )


@st.cache_resource(max_entries=KEPT, show_spinner=False)
def weight_path(name: str, lr: float, pull: Pull, steps: int, bits: int, seed: int) -> Path:
    random = np.random.default_rng(seed).integers(0, 1 << bits, (steps, RUNS), dtype=np.int32)
    whole = walk(FORMATS[name], START, lr, pull, random, bits)
    step = np.unique(np.linspace(0, steps, _STEPS).round().astype(int))
    stochastic = whole.stochastic(step)
    return Path(
        step=step,
        exact=whole.exact[step],
        nearest=whole.nearest[step],
        mean=stochastic.mean(axis=0),
        deviation=stochastic.std(axis=0),
        runs=stochastic[:SINGLE_RUNS].copy(),
        freeze=whole.freeze,
        update=float(whole.exact[1] - whole.exact[0]),
        drift=whole.drift,
    )


@dataclass(frozen=True, kw_only=True)
class DotView:
    """Errors of dot products of same-sign and of zero-mean data. `floor` is the limit of nearest's bias."""

    same_sign: DotErrors
    zero_mean: DotErrors
    floor: float


@st.cache_data(max_entries=KEPT, show_spinner=False)
def dot_view(name: str, seed: int) -> DotView:
    format_, rng, shape = FORMATS[name], np.random.default_rng(seed), (TRIALS, TERMS[-1])
    a, b = (
        Unrounded(x=_sizes(rng, shape), random=rng.integers(0, 1 << MAX_RANDOM_BITS, shape, dtype=np.int32))
        for _ in "ab"
    )
    signs = 1 - 2 * _coins(rng, shape)
    same_sign, zero_mean = dot_errors(format_, a, b, np.array(TERMS), (None, signs))
    return DotView(same_sign=same_sign, zero_mean=zero_mean, floor=abs(1 - nearest_shrinkage(format_) ** 2))


def _sizes(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    """|z| of standard normal numbers, which float32 holds: they are drawn in half the time."""
    return np.abs(rng.standard_normal(shape, np.float32)).astype(np.float64)


def _coins(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.int8]:
    """int8[shape] of 0 and 1, a random bit each."""
    count = math.prod(shape)
    coins = np.frombuffer(rng.bytes(-(-count // 8)), np.uint8)
    return np.unpackbits(coins, count=count).reshape(shape).view(np.int8)
