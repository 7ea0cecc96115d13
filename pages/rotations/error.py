"""Section "Error": quantization error over the outlier's magnitude, of vectors or of a product."""

import math
from collections.abc import Iterable
from typing import TypeAlias

import streamlit as st

from fp8core.errors import ErrorParts
from fp8core.experiments.rotation_error import VectorError, lower_ranges
from fp8core.recipes import OperandSpec
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.charts.words import column
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.shell import theme
from pages.kit.view import here
from pages.rotations.charts.curves import Curve, curves_chart
from pages.rotations.controls import ERROR_OF, MAGNITUDE, PRODUCT, draw_cases, draw_rotation
from pages.rotations.data import (
    MAGNITUDES,
    Setting,
    change,
    errors,
    errors_at,
    parts,
    products,
    setting,
    through_bf16,
)

MARGIN = 0.05
"""The least share by which a lower error counts as lower."""
MOST_NAMED = 3
SWEPT = MAGNITUDES[::2]
Ranges: TypeAlias = tuple[tuple[float, float], ...]


def show(controls: Controls) -> None:
    """Draw the error of vectors, or of a product of two matrices."""
    what = controls.draw(ERROR_OF, here().control)
    draw_cases(controls)
    draw_rotation(controls)
    magnitude = controls.draw(MAGNITUDE)
    (_product if what == PRODUCT else _vectors)(setting(controls.value), magnitude)


def _vectors(chosen: Setting, magnitude: int) -> None:
    """Draw the curves, and below them the parts of the error at the reader's magnitude."""
    without, rotated = errors_at(chosen, magnitude)
    total, rest = ranges(chosen)
    draw_notice(notice(magnitude, without, rotated))
    draw_chart(
        curves_chart(MAGNITUDES, panels(chosen), magnitude, INKS[theme()]),
        key="rotations_errors",
        alt=f"Quantization error in {chosen.format} over the outlier's magnitude, as it is and rotated. "
        f"At {magnitude}: total {without.nmse:.3g} and {rotated.nmse:.3g}, zeros {without.zeros:.0%} and "
        f"{rotated.zeros:.0%}.",
    )
    st.markdown(f"At magnitude {magnitude}, errors in percent of the signal's energy:")
    st.markdown(parts_table(zip((without.zeros, rotated.zeros), parts(chosen, magnitude), strict=True)))
    here().know.markdown(ranges_in_words(total, None if math.isnan(rotated.rest_nmse) else rest))
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
    """The error and the zeros at one magnitude."""
    effect = change(without.nmse, rotated.nmse)
    return (
        f"At magnitude {magnitude}, rotating makes the error **{effect}.** "
        f"Zeros go from {without.zeros:.0%} to {rotated.zeros:.0%}."
    )


def ranges(chosen: Setting) -> tuple[Ranges, Ranges]:
    """Magnitudes at which rotating lowers the total error, and the error of the other elements."""
    sides = errors(chosen, MAGNITUDES)
    total = [[error.nmse for error in side] for side in sides]
    rest = [[error.rest_nmse for error in side] for side in sides]
    return lower_ranges(MAGNITUDES, *total, MARGIN), lower_ranges(MAGNITUDES, *rest, MARGIN)


def panels(chosen: Setting) -> dict[str, Curve]:
    """Total error, the other elements' error where they are not zero, and the share of zeros."""
    sides, (total, rest) = errors(chosen, MAGNITUDES), ranges(chosen)
    curves = {
        "total": Curve(*([error.nmse for error in side] for side in sides), _crossings(total)),
        "rest": Curve(*([error.rest_nmse for error in side] for side in sides), _crossings(rest)),
        "zeros": Curve(*([error.zeros for error in side] for side in sides)),
    }
    return {name: panel for name, panel in curves.items() if not any(map(math.isnan, panel.without))}


def _crossings(stretches: Ranges) -> list[float]:
    return [end for stretch in stretches for end in stretch if end not in (MAGNITUDES[0], MAGNITUDES[-1])]


def ranges_in_words(total: Ranges, rest: Ranges | None) -> str:
    """The magnitudes at which rotating lowers each error; `rest` is None where all others are zero."""
    what = "the error of the other elements"
    if rest is not None and not total and not rest:
        return stretches_of(f"the total error or {what}", ())
    return stretches_of("the total error", total) + ("" if rest is None else " " + stretches_of(what, rest))


def stretches_of(what: str, stretches: Ranges) -> str:
    """A sentence on the magnitudes at which rotating helps."""
    if not stretches:
        swept = f"from {MAGNITUDES[0]:g} to {MAGNITUDES[-1]:g}"
        return f"Rotating never lowers {what} by more than {MARGIN:.0%} at magnitudes {swept}."
    named = ", ".join(f"{low:.3g} to {high:.3g}" for low, high in stretches[:MOST_NAMED])
    more = f", and in {len(stretches) - MOST_NAMED} more stretches" if len(stretches) > MOST_NAMED else ""
    return f"Rotating lowers {what} by more than {MARGIN:.0%} at magnitudes {named}{more}."


def parts_table(rows: Iterable[tuple[float, ErrorParts]]) -> str:
    """A Markdown table: one row without the rotation and one with it."""
    names = "codes that are zero | error of zeros (deadzone) | of rounding (grid) | of saturation | sum"
    lines = [f"| | {names} |", "|---|---:|---:|---:|---:|---:|"]
    for name, (zeros, one) in zip(("not rotated", "rotated"), rows, strict=True):
        shares, total = column([100 * part for part in (one.deadzone, one.grid, one.saturation)], digits=3)
        lines.append(f"| {name} | {zeros:.1%} | {' | '.join(shares)} | {total} |")
    return "\n".join(lines)


def why(spec: OperandSpec) -> str:
    """The reason why the total can grow."""
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


def _product(chosen: Setting, magnitude: int) -> None:
    """Draw the error of A Bᵀ once both operands are quantized: both rotate, and nobody rotates back."""
    swept, now = products(chosen, SWEPT), products(chosen, (float(magnitude),))
    without, rotated = now.without[0], now.rotated[0]
    draw_notice(
        f"Rotate both operands: in {chosen.format} the product's error is **{rotated:.2%}**, "
        f"not {without:.2%}. Nobody has to rotate back."
    )
    draw_chart(
        curves_chart(SWEPT, {"product": Curve(swept.without, swept.rotated)}, magnitude, INKS[theme()]),
        key="rotations_product",
        taken=55,  # pixels of the words around the panel
        alt=f"Relative error of the product in {chosen.format} over the outlier's magnitude. At {magnitude}: "
        f"{without:.3g} as it is, {rotated:.3g} rotated.",
    )
    here().know.latex(r"(A R)(B R)^\mathsf{T} = A\, R R^\mathsf{T} B^\mathsf{T} = A B^\mathsf{T}")
    here().know.markdown(
        "Rotate both operands along the contracted dim, and the product stays the same: the two rotations "
        f"cancel. In float64 it changes by at most {now.moved:.1e}; its largest entry is {now.largest:.3g}. "
        "Like activations, A has its outliers in the same channels of every row. Like weights, B has none."
    )
    here().know.caption(
        f"A and B have {chosen.matmul_rows} rows each; outliers spread over an octave around the magnitude. "
        "Products and sums are in float64: only quantization shows. Dotted: the magnitude chosen."
    )
