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
from fp8core.rotations import RotationKind
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import count as counted
from pages.kit.controls import Controls
from pages.kit.shared_controls import SEED
from pages.kit.shell import theme
from pages.sections.rotations.charts.histogram import Entries, data_sets, histograms
from pages.sections.rotations.controls import COUNT, MAGNITUDE, REST, SIZE
from pages.sections.rotations.data import Spec, turn

KINDS = (RotationKind.SIGNED_HADAMARD, RotationKind.ORTHOGONAL)
TITLES = ("Before", "After Hadamard with random signs", "After random rotations")
_ELEMENTS = 1 << 16
_MOST_TURNS = 64
_POINTS = 201
_BEYOND = 4
_HUMPS_APART = 2


@st.cache_data(max_entries=16, show_spinner=False)
def linear_parts(
    size: int, rest: str, outliers: int, seed: int
) -> tuple[tuple[NDArray[np.float64], NDArray[np.float64]], ...]:
    """(rest, outliers) of many vectors, not rotated and rotated by each of KINDS.

    Entries are rest + magnitude · outliers. Small rotations are drawn many times; a large one is a large
    sample by itself.
    """
    turns = max(1, min(_MOST_TURNS, _ELEMENTS // size**2))
    each = _ELEMENTS // size // turns
    vectors = draw_outlier_vectors(Rest[rest.upper()], (turns * each, size), outliers, seed)
    parts = [(vectors.rest, vectors.outliers)]
    for kind in KINDS:
        rotations = [turn(kind.name.lower(), size, seed + i) for i in range(turns)]
        rested, marked = (
            np.concatenate([r.apply(x) for r, x in zip(rotations, np.split(part, turns), strict=True)])
            for part in (vectors.rest, vectors.outliers)
        )
        parts.append((rested, marked))
    return tuple(parts)


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


@st.cache_data(max_entries=64, show_spinner=False)
def histogram_spec(with_line: tuple[int, ...], reach: float, theme: str) -> Spec:
    """The three panels without their data."""
    return histograms(TITLES, with_line, reach, INKS[theme]).to_dict(validate=False)


def reach_of(rest: Rest, outliers: int, magnitude: int) -> float:
    """The reach of the panels to either side: past the outliers, and past any sum that a rotation
    can make.
    """
    if rest is Rest.ZERO:
        return 1.1 * magnitude * math.sqrt(outliers)
    return magnitude + _BEYOND


@st.cache_data(max_entries=64, show_spinner=False)
def histogram_data(
    size: int, rest: str, outliers: int, seed: int, magnitude: int
) -> dict[str, dict[str, list[float]]]:
    """The named data of the three panels."""
    kind_of_rest = Rest[rest.upper()]
    reach = reach_of(kind_of_rest, outliers, magnitude)
    at = np.linspace(-reach, reach, _POINTS)[4:-4]
    known = (None, *(density(kind, kind_of_rest, at, size, magnitude, outliers) for kind in KINDS))
    panels = [
        Entries(values=(rested + magnitude * marked).ravel(), at=at, density=line)
        for (rested, marked), line in zip(linear_parts(size, rest, outliers, seed), known, strict=True)
    ]
    return data_sets(panels, reach)


def show(controls: Controls) -> None:
    """Draw the histograms; both rotations are shown, so there is none to choose."""
    magnitude = controls.draw(MAGNITUDE)
    size, outliers = int(controls.value(SIZE)), controls.value(COUNT)
    rest, seed = controls.value(REST), controls.value(SEED)
    st.markdown(f"**Notice:** {notice(size, Rest[rest.upper()], outliers, magnitude)}")
    data = histogram_data(size, rest, outliers, seed, magnitude)
    lines = tuple(i for i in range(len(TITLES)) if f"line{i}" in data)
    draw_chart(
        histogram_spec(lines, reach_of(Rest[rest.upper()], outliers, magnitude), theme())
        | {"datasets": data},
        key="rotations_histograms",
        alt=f"Histograms of the entries of vectors of {size} with {counted(outliers, 'outlier')} of "
        f"magnitude {magnitude}: before, after a Hadamard transform, after random rotations.",
    )
    st.caption(
        f"Bars: {_ELEMENTS:,} entries, each vector with its outliers in other places. Line: the exact "
        "density, where there is a formula (the rest Gaussian, or zero under random rotations). Point at a "
        "bar for its share."
    )


def notice(size: int, rest: Rest, outliers: int, magnitude: int) -> str:
    """The effect of the two rotations on the outliers, with the figures of this setting."""
    place = magnitude / math.sqrt(size)
    spread = magnitude * math.sqrt(outliers / size)
    random = (
        f"Under random rotations its share of an entry follows a Beta distribution of standard deviation "
        f"{spread:.3g}, with tails beyond."
    )
    if outliers > 1:
        return (
            f"the {outliers} outliers of {magnitude} add up with random signs: under Hadamard in steps of "
            f"2 · {magnitude}/√{size} = {2 * place:.3g}. " + random.replace("its share of", "their sum in")
        )
    if rest is Rest.ZERO:
        return (
            f"a lone outlier of {magnitude} becomes ±{magnitude}/√{size} = ±{place:.3g} in every entry under "
            f"Hadamard: two spikes, which two codes hold. {random}"
        )
    shape = "two humps" if place > _HUMPS_APART else "two humps that merge into one"
    return (
        f"Hadamard shares an outlier of {magnitude} out equally, ±{magnitude}/√{size} = ±{place:.3g} to "
        f"every entry, and the rest lies around those: {shape}. {random}"
    )
