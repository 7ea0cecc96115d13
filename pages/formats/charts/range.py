"""Range against precision: each format as a point."""

import math
from collections.abc import Mapping

import altair as alt

from fp8core.formats import Format
from fp8core.formats.binades import dynamic_range, finest_bits
from pages.formats.charts.words import power_labels
from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import NARROW, SMALLEST
from pages.kit.charts.template import Filled, by_column, number, template

_NARROW, _WIDE, _BESIDE = 2.8, 420, 0.8
_TOGETHER = 0.12
_STACKED = 200
"""Binades from which formats stand above one another, with 8 exponent bits each: names go beside them."""
POINTS = "points"
Row = dict[str, object]


def has_range(format_: Format) -> bool:
    """True if the largest and the smallest positive value differ: a logarithmic axis has no place for 0."""
    return dynamic_range(format_) > 0


def point_rows(formats: Mapping[str, Format]) -> list[Row]:
    """One row a format that has a range. Formats at one point share the label of the first; its `label` is
    None in the others.
    """
    rows: list[Row] = []
    for title, format_ in formats.items():
        if not has_range(format_):
            continue
        rows.append(
            {
                "format": title,
                "bits": finest_bits(format_),
                "width": format_.bits,
                "range": round(dynamic_range(format_), 2),
                "label": None,
            }
        )
    named: list[tuple[Row, list[Row]]] = []
    for row in rows:
        for first, others in named:
            near = abs(math.log(float(str(row["range"])) / float(str(first["range"])))) < _TOGETHER
            if near and row["bits"] == first["bits"]:
                others.append(row)
                break
        else:
            named.append((row, []))
    for first, others in named:
        first["label"] = str(first["format"]) + (f" +{len(others)}" if others else "")
    return rows


def range_points(formats: Mapping[str, Format], room: int, ink: Ink) -> Filled:
    """Dynamic range against the finest relative step. More bits lie further up and to the right."""
    rows = point_rows(formats)
    narrowest = min((float(str(row["range"])) for row in rows), default=_NARROW) * _BESIDE
    return _points(ink).filled({POINTS: by_column(rows)}, narrowest=min(_NARROW, narrowest), height=room)


@template
def _points(ink: Ink) -> alt.LayerChart:
    base = alt.Chart(alt.NamedData(POINTS)).encode(
        x=alt.X(
            "range:Q",
            title="range: binades from the smallest to the largest positive value",
            scale=alt.Scale(type="log", domain=[number("narrowest", _NARROW), _WIDE], nice=False),
            axis=alt.Axis(values=[1, 2, 4, 8, 16, 32, 64, 128, 256], labelOverlap=True),
        ),
        y=alt.Y(
            "bits:Q",
            title="relative step, finer is higher",
            scale=alt.Scale(type="sqrt", domain=[0, 25], nice=False),
            axis=alt.Axis(labelExpr=power_labels("-datum.value"), values=[0, 1, 2, 3, 4, 6, 8, 10, 13, 23]),
        ),
    )
    widths = [4, 6, 8, 16, 32]
    points = base.mark_point(filled=True, opacity=1, color=ink.dot, stroke=ink.page).encode(
        size=alt.Size(
            "width:Q",
            title="bits per value",
            scale=alt.Scale(domain=[4, 32], range=[45, 420]),
            legend=alt.Legend(
                orient="bottom",
                direction="horizontal",
                values=widths,
                labelColor=ink.text,
                titleColor=ink.text,
            ),
        ),
        tooltip=[
            alt.Tooltip("format:N", title="format"),
            alt.Tooltip("width:Q", title="bits per value"),
            alt.Tooltip("range:Q", title="binades"),
            alt.Tooltip("bits:Q", title="mantissa bits"),
        ],
    )
    named = base.transform_filter("isValid(datum.label)")
    stacked, coarse = f"datum.range > {_STACKED}", "datum.bits > 0 && datum.bits < 3"
    size = alt.ExprRef(f"containerSize()[0] < {NARROW} ? {SMALLEST} : 13")
    names = [
        named.transform_filter(where)
        .mark_text(size=size, color=ink.text, aria=False, **place)
        .encode(text="label:N")
        for where, place in (
            (stacked, {"align": "right", "dx": -15}),
            (f"!({stacked}) && {coarse}", {"align": "center", "dy": 15}),
            (f"!({stacked}) && !({coarse})", {"align": "center", "dy": -15}),
        )
    ]
    return (
        alt.layer(points, *names)
        .properties(height=number("height", 500))
        .configure_axis(
            labelColor=ink.text, titleColor=ink.soft, titleFontWeight="normal", gridColor=ink.hair
        )
    )
