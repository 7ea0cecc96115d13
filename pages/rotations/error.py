"""Section "Error": quantization error over the outlier's magnitude, without and with the rotation."""

import math
from collections.abc import Iterable

import streamlit as st

from fp8core.errors import ErrorParts
from fp8core.experiments.rotation_error import VectorError, lower_ranges
from fp8core.recipes import OperandSpec
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.template import Filled
from pages.kit.charts.words import column
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.view import here
from pages.rotations import product
from pages.rotations.cases import change, draw_cases
from pages.rotations.charts.curves import Curve, curves, data_sets
from pages.rotations.controls import ERROR_OF, MAGNITUDE, PRODUCT, draw_rotation
from pages.rotations.data import (
    MAGNITUDES,
    Setting,
    error_curves,
    errors,
    parts,
    setting,
    through_bf16,
)

MARGIN = 0.05
MOST_NAMED = 3
Ranges = tuple[tuple[float, float], ...]


def ranges(setting: Setting) -> tuple[Ranges, Ranges]:
    """Magnitudes at which rotating lowers the total error, and the error of the other elements."""
    swept = error_curves(setting)
    total = [[e.nmse for e in side] for side in (swept.without, swept.rotated)]
    rest = [[e.rest_nmse for e in side] for side in (swept.without, swept.rotated)]
    return lower_ranges(MAGNITUDES, *total, MARGIN), lower_ranges(MAGNITUDES, *rest, MARGIN)


TITLES = {
    "total": "Error of all elements: error energy / signal energy",
    "rest": "Error of the other elements alone: their error energy / their energy",
    "zeros": "Share of the codes that are zero",
}


def picture(panels: dict[str, Curve], magnitude: int, theme: str) -> Filled:
    """The panels, and a line at the reader's magnitude."""
    ends = MAGNITUDES[0], MAGNITUDES[-1]
    # Both kinds are made at once: a reader who changes the other elements does not wait for the second.
    kinds = {
        names: curves(ends, tuple((name, TITLES[name]) for name in names), (("zeros", (0, 1)),), INKS[theme])
        for names in (tuple(TITLES), tuple(name for name in TITLES if name != "rest"))
    }
    return kinds[tuple(panels)].filled(data_sets(MAGNITUDES, panels, magnitude))


def curve_panels(setting: Setting) -> dict[str, Curve]:
    """Total error, the other elements' error where they are not zero, and the share of zeros."""
    swept, (total, rest) = error_curves(setting), ranges(setting)
    sides = swept.without, swept.rotated
    panels = {
        "total": Curve(*([e.nmse for e in side] for side in sides), _crossings(total)),
        "rest": Curve(*([e.rest_nmse for e in side] for side in sides), _crossings(rest)),
        "zeros": Curve(*([e.zeros for e in side] for side in sides)),
    }
    return {name: panel for name, panel in panels.items() if not any(map(math.isnan, panel.without))}


def _crossings(ranges: Ranges) -> list[float]:
    return [end for stretch in ranges for end in stretch if end not in (MAGNITUDES[0], MAGNITUDES[-1])]


def show(controls: Controls) -> None:
    """Draw the error of vectors, or of a product of two matrices."""
    what = controls.draw(ERROR_OF, here().control)
    draw_cases(controls)
    draw_rotation(controls)
    magnitude = controls.draw(MAGNITUDE)
    (product.show if what == PRODUCT else _of_vectors)(setting(controls), magnitude)


def _of_vectors(chosen: Setting, magnitude: int) -> None:
    """Draw the curves, and below them the parts of the error at the reader's magnitude."""
    without, rotated = errors(chosen, magnitude)
    total, rest = ranges(chosen)
    draw_notice(notice(magnitude, without, rotated))
    draw_chart(
        picture(curve_panels(chosen), magnitude, theme()),
        key="rotations_errors",
        alt=f"Quantization error in {chosen.format} over the outlier's magnitude, as it is and rotated. "
        f"At {magnitude}: total {without.nmse:.3g} and {rotated.nmse:.3g}, zeros {without.zeros:.0%} and "
        f"{rotated.zeros:.0%}.",
    )
    st.markdown(f"At magnitude {magnitude}, errors in percent of the signal's energy:")
    st.markdown(parts_table(zip((without.zeros, rotated.zeros), parts(chosen, magnitude), strict=True)))
    here().know.markdown(crossings_in_words(total, None if math.isnan(rotated.rest_nmse) else rest))
    here().know.markdown(why(chosen.spec()))
    alone, both = through_bf16(chosen, magnitude)
    here().know.markdown(
        "A kernel stores the rotated numbers in bf16 before it quantizes them. That alone costs "
        f"{alone:.1e} of the energy. Quantized after it, the error is {both:.3g} instead of "
        f"{rotated.nmse:.3g}."
    )
    here().know.caption(
        f"Averages over {chosen.many:,} vectors whose outliers spread over an octave around the magnitude; "
        "error measured after rotating back. Dotted: the magnitude chosen. Orange: the magnitudes at "
        f"which rotating begins or ceases to lower the error by {MARGIN:.0%}. Point at a panel for both "
        "values."
    )


def notice(magnitude: int, without: VectorError, rotated: VectorError) -> str:
    """The two truths at one magnitude."""
    effect = change(without.nmse, rotated.nmse)
    return (
        f"At magnitude {magnitude}, rotating makes the error **{effect}.** "
        f"Zeros go from {without.zeros:.0%} to {rotated.zeros:.0%}."
    )


def crossings_in_words(total: Ranges, rest: Ranges | None) -> str:
    """The magnitudes at which rotating lowers each error; `rest` is None where there are no other
    elements.
    """
    what = "the error of the other elements"
    if rest is not None and not total and not rest:
        return where(f"the total error or {what}", ())
    return where("the total error", total) + ("" if rest is None else " " + where(what, rest))


def where(what: str, ranges: Ranges) -> str:
    """A sentence on the magnitudes at which rotating helps."""
    if not ranges:
        swept = f"from {MAGNITUDES[0]:g} to {MAGNITUDES[-1]:g}"
        return f"Rotating never lowers {what} by more than {MARGIN:.0%} at magnitudes {swept}."
    stretches = ", ".join(f"{low:.3g} to {high:.3g}" for low, high in ranges[:MOST_NAMED])
    more = f", and in {len(ranges) - MOST_NAMED} more stretches" if len(ranges) > MOST_NAMED else ""
    return f"Rotating lowers {what} by more than {MARGIN:.0%} at magnitudes {stretches}{more}."


def parts_table(rows: Iterable[tuple[float, ErrorParts]]) -> str:
    """A Markdown table: one row without the rotation and one with it."""
    names = "codes that are zero | error of zeros (deadzone) | of rounding (grid) | of saturation | sum"
    lines = [f"| | {names} |", "|---|---:|---:|---:|---:|---:|"]
    for name, row in zip(("not rotated", "rotated"), rows, strict=True):
        zeros, found = row
        parts, total = column([100 * one for one in (found.deadzone, found.grid, found.saturation)], digits=3)
        lines.append(f"| {name} | {zeros:.1%} | {' | '.join(parts)} | {total} |")
    return "\n".join(lines)


def why(spec: OperandSpec) -> str:
    """A sentence on why the total can grow."""
    if not spec.scale_rule.powers_of_two:
        return (
            f"Why the total can grow: where the outlier is its tile's amax, the scale amax / "
            f"{spec.format.max:g} puts it on the largest value **exactly**: most of the energy has no error. "
            "Rotated, that energy is in every entry, and every entry is rounded. With a scale that is a "
            "power of two the outlier is rounded like the rest: choose one under “More controls” and compare."
        )
    return (
        "A scale that is a power of two does not put the outlier on a value of the format: it is rounded "
        "like the rest, and most of the energy has an error even without a rotation. With an fp32 scale the "
        "outlier lands on the largest value exactly: choose that under “More controls” and compare."
    )
