"""The data of the page "Stochastic rounding", computed by `fp8core` and kept between runs.

A kept function depends only on its arguments: names, numbers and the theme, nothing of the session.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from fp8core.experiments.dot_noise import DotErrors, dot_errors, nearest_shrinkage, rounded
from fp8core.experiments.pictures import Levels, Picture, PixelGrid, blur, rms, round_nearest, round_noisy
from fp8core.experiments.rounding_sweep import (
    RoundingError,
    Sweep,
    nearest_error,
    noisy_error,
    sweep,
    values_around,
)
from fp8core.experiments.weight_updates import Pull, Walk, walk
from fp8core.formats import FORMATS
from fp8core.stochastic import MAX_RANDOM_BITS, Debias
from kernels.paths import ASSETS
from pages.kit.charts.ink import INKS
from pages.sections.stochastic.charts.blur import blur_chart
from pages.sections.stochastic.charts.dot import dot_chart
from pages.sections.stochastic.charts.mean import mean_chart
from pages.sections.stochastic.charts.weight import weight_chart
from pages.sections.stochastic.controls import LARGEST_BLUR, LEVELS_OF_GRAY
from pages.sections.stochastic.upload import GrayPicture, decode

KEPT = 64
KEPT_PICTURES = 16
MYSTERY = ASSETS / "mystery.png"
GAPS, DRAWN_POINTS, COUNTED_POINTS = 4, 160, 1000
START, RUNS = 1.0, 64
TRIALS, TERMS = 48, tuple(1 << power for power in range(2, 13))
Spec = dict[str, Any]


@st.cache_resource(show_spinner=False)
def mystery() -> GrayPicture:
    return decode("The mystery picture", MYSTERY.read_bytes())


def pixel_grid(pixels: str, levels: int) -> PixelGrid:
    return Levels(levels) if pixels == LEVELS_OF_GRAY else FORMATS[pixels]


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
    grid = pixel_grid(pixels, levels)
    random = np.random.default_rng(seed).integers(0, 1 << MAX_RANDOM_BITS, _light.shape)
    nearest, noisy = round_nearest(_light, grid), round_noisy(_light, grid, random)
    zero = np.zeros_like(_light)
    # A blur is linear: the error of the blurred pictures is the blurred error.
    errors = [
        tuple(
            rms(blur((picture - _light).astype(np.float32), sigma), zero) for sigma in range(LARGEST_BLUR + 1)
        )
        for picture in (nearest, noisy)
    ]
    return RoundedPicture(nearest=nearest, noisy=noisy, nearest_rms=errors[0], noisy_rms=errors[1])


@st.cache_data(max_entries=KEPT, show_spinner=False)
def blur_spec(nearest: tuple[float, ...], noisy: tuple[float, ...], sigma: int, theme: str) -> Spec:
    return blur_chart(nearest, noisy, sigma, INKS[theme])


@dataclass(frozen=True, kw_only=True)
class MeanView:
    """The sweep that is drawn, and the errors over a finer one.

    The errors are those of nearest and of each way to treat the remaining bits.
    """

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


@st.cache_data(max_entries=KEPT, show_spinner=False)
def mean_spec(name: str, around: float, bits: int, debias: Debias, theme: str) -> Spec:
    view = mean_view(name, around, bits, debias)
    return mean_chart(view.drawn, view.values, name, INKS[theme])


@st.cache_data(max_entries=KEPT, show_spinner=False)
def weight_walk(name: str, lr: float, pull: Pull, steps: int, bits: int, seed: int) -> Walk:
    random = np.random.default_rng(seed).integers(0, 1 << bits, (steps, RUNS), dtype=np.int32)
    return walk(FORMATS[name], START, lr, pull, random, bits)


@st.cache_data(max_entries=KEPT, show_spinner=False)
def weight_spec(name: str, lr: float, pull: Pull, steps: int, bits: int, seed: int, theme: str) -> Spec:
    return weight_chart(weight_walk(name, lr, pull, steps, bits, seed), INKS[theme])


@dataclass(frozen=True, kw_only=True)
class DotView:
    """Errors of dot products of same-sign and of zero-mean data. `floor` is the limit of nearest's bias."""

    same_sign: DotErrors
    zero_mean: DotErrors
    floor: float


@st.cache_data(max_entries=KEPT, show_spinner=False)
def dot_view(name: str, seed: int) -> DotView:
    format_, rng, shape = FORMATS[name], np.random.default_rng(seed), (TRIALS, TERMS[-1])
    terms = np.array(TERMS)
    a, b = (
        rounded(
            format_,
            np.abs(rng.standard_normal(shape)),
            rng.integers(0, 1 << MAX_RANDOM_BITS, shape, dtype=np.int32),
        )
        for _ in "ab"
    )
    signed = (operand.signed(rng.choice((-1.0, 1.0), shape)) for operand in (a, b))
    return DotView(
        same_sign=dot_errors(a, b, terms),
        zero_mean=dot_errors(*signed, terms),
        floor=abs(1 - nearest_shrinkage(format_) ** 2),
    )


@st.cache_data(max_entries=KEPT, show_spinner=False)
def dot_specs(name: str, seed: int, theme: str) -> tuple[Spec, Spec]:
    """The chart of same-sign data and that of zero-mean data, on one scale of errors."""
    view, ink = dot_view(name, seed), INKS[theme]
    errors = [*view.same_sign.nearest, *view.same_sign.stochastic, *view.zero_mean.stochastic, view.floor]
    domain = min(errors) / 1.5, max(*errors, *view.zero_mean.nearest) * 1.5
    return (
        dot_chart(view.same_sign, domain, ink, view.floor),
        dot_chart(view.zero_mean, domain, ink),
    )
