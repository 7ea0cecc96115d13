"""Section "Many vectors": the distribution of entries before, after Hadamard and after random rotations."""

import math

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from fp8core.experiments.outliers import (
    Rest,
    draw_outlier_vectors,
    hadamard_density,
    lone_outlier_density,
    orthogonal_density,
)
from fp8core.reflections import draw_reflections
from fp8core.rotations import RotationKind, hadamard, random_signs
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import count as counted
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shared_controls import SEED
from pages.kit.shell import theme
from pages.kit.view import here
from pages.rotations.charts.histogram import Entries, histograms
from pages.rotations.controls import COUNT, MAGNITUDE, REST, SIZE
from pages.rotations.data import FEW

KINDS = (RotationKind.SIGNED_HADAMARD, RotationKind.ORTHOGONAL)
TITLES = ("Before", "After Hadamard with random signs", "After random rotations")
_ELEMENTS = 1 << 16
_MOST_TURNS = 64
_POINTS, _ENDS = 101, 4
_BEYOND = 4


@st.cache_resource(max_entries=FEW, show_spinner=False)
def linear_parts(size: int, rest: str, outliers: int, seed: int) -> tuple[NDArray[np.float64], ...]:
    """float64[2, entries]: the rest and the outliers of many vectors, not rotated and rotated by each of
    KINDS.

    Entries are rest + magnitude · outliers. Small rotations are drawn many times; a large one is a large
    sample by itself.
    """
    turns = max(1, min(_MOST_TURNS, _ELEMENTS // size**2))
    vectors = draw_outlier_vectors(Rest[rest.upper()], (_ELEMENTS // size, size), outliers, seed)
    groups = np.stack([vectors.rest, vectors.outliers]).reshape(2, turns, -1, size)
    signs = random_signs(turns * size, seed).reshape(turns, 1, size)
    spread = hadamard(groups * signs, size)
    turned = draw_reflections(size, seed, (turns,)).apply(groups)
    return tuple(part.reshape(2, -1) for part in (groups, spread, turned))


def density(
    kind: RotationKind, rest: Rest, at: NDArray[np.float64], size: int, magnitude: float, outliers: int
) -> NDArray[np.float64] | None:
    """The exact density of the entries, where there is a formula for it; None elsewhere."""
    if kind is RotationKind.ORTHOGONAL and rest is Rest.ZERO:
        return lone_outlier_density(at, size, magnitude, outliers)
    if kind is RotationKind.ORTHOGONAL and rest is Rest.GAUSSIAN and outliers == 1:
        return orthogonal_density(at, size, magnitude)
    if kind is RotationKind.SIGNED_HADAMARD and rest is Rest.GAUSSIAN:
        return hadamard_density(at, size, magnitude, outliers)
    return None


def reach_of(rest: Rest, outliers: int, magnitude: int) -> float:
    """The reach of the panels to either side: past the outliers, and past any sum that a rotation
    can make.
    """
    if rest is Rest.ZERO:
        return 1.1 * magnitude * math.sqrt(outliers)
    return magnitude + _BEYOND


def panels(
    size: int, rest: str, outliers: int, seed: int, magnitude: int, reach: float
) -> dict[str, Entries]:
    """The entries of each panel."""
    kind_of_rest = Rest[rest.upper()]
    at = np.linspace(0.0, reach, _POINTS)[:-_ENDS]
    known = (None, *(density(kind, kind_of_rest, at, size, magnitude, outliers) for kind in KINDS))
    return {
        title: Entries(values=rested + magnitude * marked, at=at, density=line)
        for title, (rested, marked), line in zip(
            TITLES, linear_parts(size, rest, outliers, seed), known, strict=True
        )
    }


def show(controls: Controls) -> None:
    """Draw the histograms; both rotations are shown, so there is none to choose."""
    magnitude = controls.draw(MAGNITUDE)
    size, outliers = int(controls.value(SIZE)), controls.value(COUNT)
    rest, seed = controls.value(REST), controls.value(SEED)
    draw_notice(notice(size, outliers, magnitude))
    reach = reach_of(Rest[rest.upper()], outliers, magnitude)
    draw_chart(
        histograms(panels(size, rest, outliers, seed, magnitude, reach), reach, INKS[theme()]),
        key="rotations_histograms",
        alt=f"Histograms of the entries of vectors of {size} with {counted(outliers, 'outlier')} of "
        f"magnitude {magnitude}: before, after a Hadamard transform, after random rotations.",
    )
    here().know.markdown(
        f"Under random rotations the outliers' share of an entry follows a Beta distribution of standard "
        f"deviation {magnitude * math.sqrt(outliers / size):.3g}. Bars: {_ELEMENTS:,} entries, each vector "
        "with its outliers in other places. Line: the exact density, where there is a formula (the rest "
        "Gaussian, or zero under random rotations). Point at a bar for its share."
    )


def notice(size: int, outliers: int, magnitude: int) -> str:
    """The effect of a Hadamard rotation on the outliers, with the figures of this setting."""
    share = magnitude / math.sqrt(size)
    if outliers > 1:
        return (
            f"The {outliers} outliers of {magnitude} add up with random signs: under Hadamard "
            f"**in steps of {2 * share:.3g}.**"
        )
    return (
        f"Hadamard shares an outlier of {magnitude} out equally: "
        f"**±{share:.3g} in each of {size:,} numbers.**"
    )
