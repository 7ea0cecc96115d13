"""Sections "One vector" and "Many vectors": entries before a rotation and after it."""

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
from pages.kit.chart_slider import chart_with_slider
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Filled
from pages.kit.charts.words import count
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shared_controls import SEED
from pages.kit.shell import theme
from pages.kit.view import here
from pages.rotations.charts.vectors import MAGNITUDE as SLIDER
from pages.rotations.charts.vectors import OUTLIER, PANELS, Entries, histograms, vector_picture
from pages.rotations.controls import COUNT, MAGNITUDE, REST, SIZE, draw_cases, draw_rotation
from pages.rotations.facts import FEW, Setting, change, errors_at, look, of_format, setting_of


def picture(setting: Setting, start: int, theme: str) -> Filled:
    spec, number = setting.spec(), np.arange(setting.size, dtype=np.int32)
    panels = {}
    for name, frame in zip(PANELS, setting.one(), strict=True):
        rest, slope = frame.linear[:, 0]
        panels[name] = {
            "i": number,
            "rest": rest,
            "slope": slope,
            "tile": number // (spec.tile.k or setting.size),
            # After a rotation, no entry is an outlier by itself.
            "outlier": frame.vectors.is_outlier[0] & (frame.rotation is None),
        }
    return vector_picture(panels, spec, start, (MAGNITUDE.low, MAGNITUDE.high), INKS[theme])


def show_one(controls: Controls) -> None:
    """Section "One vector": its stems; the slider in the picture is the magnitude's control."""
    draw_cases(controls)
    draw_rotation(controls)
    setting, magnitude = setting_of(controls.value), controls.value(MAGNITUDE)
    (_, before), (_, after) = look(setting, magnitude)
    draw_notice(
        f"The outlier sets the scale, and **{before:,} of {setting.size:,} numbers become 0** in "
        f"{setting.format}. Rotated, {f'{after:,}' if after else 'none'} {'does' if after < 2 else 'do'}."
    )
    chart_with_slider(
        controls,
        MAGNITUDE,
        name="rotations_vector",
        drawn=(setting, theme()),
        at=magnitude,
        spec_at=lambda start: picture(setting, start, theme()),
        param=OUTLIER,
        field=SLIDER,
        # Whatever changes here makes the browser build the picture anew: nothing that dragging changes.
        alt_at=lambda _: (
            f"{setting.size} entries as stems, before and after the rotation, under a slider for the "
            "outlier's magnitude. Above each panel: its largest entry, and how many become zero."
        ),
    )
    without, rotated = (of_format(error.nmse) for error in errors_at(setting, magnitude))
    here().know.markdown(
        f"Over {setting.many:,} such vectors, quantization to {setting.format} loses {without:.3g} of the "
        f"energy without the rotation and {rotated:.3g} with it. The error is {change(without, rotated)}. "
        f"Both panels have one axis. Blue: the largest |x|. The orange band is what rounds to zero in "
        f"{setting.format}: at most half its smallest value, {setting.spec().format.min_subnormal:g}, times "
        "the tile's scale."
    )


KINDS = (RotationKind.SIGNED_HADAMARD, RotationKind.ORTHOGONAL)
TITLES = ("Before", "After Hadamard with random signs", "After random rotations")
_ELEMENTS = 1 << 16
_MOST_TURNS = 64
_POINTS, _ENDS = 101, 4


@st.cache_resource(max_entries=FEW, show_spinner=False)
def linear_parts(size: int, rest: str, outliers: int, seed: int) -> tuple[NDArray[np.float64], ...]:
    """float64[2, entries]: rest and outliers of many vectors, as they are and rotated by each of KINDS.

    Small rotations are drawn many times; a large one is a large sample by itself.
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


def panels(
    size: int, rest: str, outliers: int, seed: int, magnitude: int, reach: float
) -> dict[str, Entries]:
    at = np.linspace(0.0, reach, _POINTS)[:-_ENDS]
    densities = (None, *(density(kind, Rest[rest.upper()], at, size, magnitude, outliers) for kind in KINDS))
    return {
        title: Entries(values=rest_part + magnitude * outlier_part, at=at, density=line)
        for title, (rest_part, outlier_part), line in zip(
            TITLES, linear_parts(size, rest, outliers, seed), densities, strict=True
        )
    }


def show_many(controls: Controls) -> None:
    """Section "Many vectors": histograms of both rotations, so that there is none to choose."""
    magnitude = controls.draw(MAGNITUDE)
    size, outliers = int(controls.value(SIZE)), controls.value(COUNT)
    rest, seed = controls.value(REST), controls.value(SEED)
    share = magnitude / math.sqrt(size)
    draw_notice(
        f"The {outliers} outliers of {magnitude} add up with random signs: under Hadamard "
        f"**in steps of {2 * share:.3g}.**"
        if outliers > 1
        else f"Hadamard shares an outlier of {magnitude} out equally: "
        f"**±{share:.3g} in each of {size:,} numbers.**"
    )
    # Past the outliers, and past any sum that a rotation can make.
    alone = Rest[rest.upper()] is Rest.ZERO
    reach = 1.1 * magnitude * math.sqrt(outliers) if alone else magnitude + 4.0
    draw_chart(
        histograms(panels(size, rest, outliers, seed, magnitude, reach), reach, INKS[theme()]),
        key="rotations_histograms",
        alt=f"Histograms of the entries of vectors of {size} with {count(outliers, 'outlier')} of "
        f"magnitude {magnitude}: before, after a Hadamard transform, after random rotations.",
    )
    here().know.markdown(
        f"Under random rotations the outliers' share of an entry follows a Beta distribution of standard "
        f"deviation {magnitude * math.sqrt(outliers / size):.3g}. Bars: {_ELEMENTS:,} entries, each vector "
        "with its outliers in other places. Line: the exact density, where there is a formula (the rest "
        "Gaussian, or zero under random rotations). Point at a bar for its share."
    )
