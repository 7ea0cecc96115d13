"""Section "Error": quantization error over the outlier's magnitude, of vectors or of a product."""

import math
from typing import TypeAlias

import streamlit as st

from fp8core.experiments.rotation_error import lower_ranges
from pages.kit.charts.words import column, short
from pages.kit.controls import Controls
from pages.kit.tables import markdown_table
from pages.kit.view import draw_chart, draw_notice, here, page_ink
from pages.rotations.charts.curves import Curve, curves_chart
from pages.rotations.controls import ERROR_OF, MAGNITUDE, PRODUCT, draw_cases, draw_rotation
from pages.rotations.facts import MAGNITUDES, Setting, change, errors, errors_at, parts, products, setting_of

MARGIN = 0.05  # the least gain that counts as lower
SWEPT = MAGNITUDES[::2]
Ranges: TypeAlias = tuple[tuple[float, float], ...]


def show(controls: Controls) -> None:
    of = controls.draw(ERROR_OF, here().control)
    draw_cases(controls)
    draw_rotation(controls)
    magnitude = controls.draw(MAGNITUDE)
    (_product if of == PRODUCT else _vectors)(setting_of(controls.value), magnitude)


def _vectors(setting: Setting, magnitude: int) -> None:
    without, rotated = errors_at(setting, magnitude)
    draw_notice(
        f"At magnitude {magnitude}, rotating makes the error **{change(without.nmse, rotated.nmse)}.** "
        f"Zeros go from {without.zeros:.0%} to {rotated.zeros:.0%}."
    )
    curves, lower = {}, {}
    for name, field in {"total": "nmse", "rest": "rest_nmse", "zeros": "zeros"}.items():
        before, after = ([getattr(error, field) for error in side] for side in errors(setting, MAGNITUDES))
        # The other elements have no error of their own where all of them are zero.
        if any(map(math.isnan, before)):
            continue
        if name in ERRORS:
            lower[name] = lower_ranges(MAGNITUDES, before, after, MARGIN)
        curves[name] = Curve(before, after)
    draw_chart(
        curves_chart(MAGNITUDES, curves, magnitude, page_ink()),
        key="rotations_errors",
        is_fitted=True,
        alt=f"Quantization error in {setting.format} over the outlier's magnitude, as it is and rotated. "
        f"At {magnitude}: total {without.nmse:.3g} and {rotated.nmse:.3g}, zeros {without.zeros:.0%} and "
        f"{rotated.zeros:.0%}.",
    )
    st.markdown(f"At magnitude {magnitude}, errors in percent of the signal's energy:")
    st.markdown(_parts_table(setting, magnitude))
    for name, stretches in lower.items():
        here().know.markdown(lowered(ERRORS[name], stretches))
    here().know.markdown(WHY)
    here().know.caption(
        f"Averages over {setting.many:,} vectors whose outliers spread over a factor of two around the "
        "magnitude; error measured after rotating back. Point at a panel for both values."
    )


WHY = (
    "Why the total can grow: where the outlier is its tile's amax, an fp32 scale puts it on the format's "
    "largest value **exactly**: most of the energy has no error. Rotated, that energy is in every entry, and "
    "every entry is rounded. A scale that is a power of two rounds the outlier like the rest: choose the "
    "scale under “More controls” and compare."
)
ERRORS = {"total": "the total error", "rest": "the error of the other elements"}


def lowered(error: str, stretches: Ranges) -> str:
    if not stretches:
        sweep = f"from {MAGNITUDES[0]:g} to {MAGNITUDES[-1]:g}"
        return f"Rotating never lowers {error} by more than {MARGIN:.0%} at magnitudes {sweep}."
    ranges = ", ".join(f"{short(low, 3)} to {short(high, 3)}" for low, high in stretches)
    return f"Rotating lowers {error} by more than {MARGIN:.0%} at magnitudes {ranges}."


def _parts_table(setting: Setting, magnitude: int) -> str:
    names = "codes that are zero", "error of zeros (deadzone)", "of rounding (grid)", "of saturation", "sum"
    lines = []
    sides = ("not rotated", "rotated"), errors_at(setting, magnitude), parts(setting, magnitude)
    for name, error, one in zip(*sides, strict=True):
        shares, total = column([100 * part for part in (one.deadzone, one.grid, one.saturation)], digits=3)
        lines.append((name, f"{error.zeros:.1%}", *shares, total))
    return markdown_table(("", *names), lines)


def _product(setting: Setting, magnitude: int) -> None:
    sweep, now = products(setting, SWEPT), products(setting, (float(magnitude),))
    without, rotated = now.without[0], now.rotated[0]
    draw_notice(
        f"Rotate both operands: in {setting.format} the product's error is **{rotated:.2%}**, "
        f"not {without:.2%}. Nobody has to rotate back."
    )
    draw_chart(
        curves_chart(SWEPT, {"product": Curve(sweep.without, sweep.rotated)}, magnitude, page_ink()),
        key="rotations_product",
        is_fitted=True,
        margin=55,  # pixels of the words around the panel
        alt=f"Relative error of the product in {setting.format} over the outlier's magnitude. "
        f"At {magnitude}: {without:.3g} as it is, {rotated:.3g} rotated.",
    )
    here().know.latex(r"(A R)(B R)^\mathsf{T} = A\, R R^\mathsf{T} B^\mathsf{T} = A B^\mathsf{T}")
    here().know.markdown(
        "Rotate both operands along the contracted dim, and the product stays the same: the two rotations "
        f"cancel. In float64 it changes by at most {now.drift:.1e}; its largest entry is {now.largest:.3g}. "
        "Like activations, A has its outliers in the same channels of every row. Like weights, B has none."
    )
    here().know.caption(
        f"A and B have {setting.matmul_rows} rows each; outliers spread over a factor of two around the "
        "magnitude. Products and sums are in float64: only quantization shows."
    )
