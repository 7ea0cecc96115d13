"""Every positive value of several formats as a tick, one format a line, on one axis."""

import math
from collections.abc import Mapping
from functools import lru_cache

import altair as alt

from fp8core.formats import Format
from pages.formats.charts.words import hexadecimal, number, power_labels
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, by_column, several, template
from pages.kit.charts.template import number as number_hole

_TICKED_BITS = 8
_AXIS_HEIGHT, _LOWEST_ROW = 60, 18
_OF_ROW, _TALLEST = 0.62, 40
"""A tick's share of its row, and the most pixels of one."""
LOWEST, HIGHEST, START = -4, 10, 3
TOP = "top"
VALUES = "values"
_KEPT = 64
Row = dict[str, object]


def compare_rows(formats: Mapping[str, Format]) -> list[Row]:
    """A row a positive value. A format with more than 2^8 codes is one row with its two ends; the other end,
    `x2`, is NaN in every other row.
    """
    return [row for title, format_ in formats.items() for row in _rows_of(title, format_)]


@lru_cache(maxsize=_KEPT)
def _rows_of(title: str, format_: Format) -> tuple[Row, ...]:
    if format_.bits > _TICKED_BITS:
        text = f"{number(format_.min_subnormal, 4)} to {number(format_.max, 6)}"
        ends = {"x": format_.min_subnormal, "x2": format_.max}
        return ({"format": title, **ends, "text": text, "code": f"2^{format_.bits} codes"},)
    return tuple(
        {
            "format": title,
            "x": value,
            "x2": math.nan,
            "text": number(value),
            "code": hexadecimal(code, format_),
        }
        for code, value in enumerate(format_.values.tolist())
        if value > 0 and math.isfinite(value)
    )


def compare_chart(formats: Mapping[str, Format], logarithmic: bool, room: int, ink: Ink) -> Filled:
    """The ticks, in `room` pixels of height, on a logarithmic axis or on a linear one whose end one drags."""
    height = max(room, len(formats) * _LOWEST_ROW + _AXIS_HEIGHT)
    row = (height - _AXIS_HEIGHT) / len(formats)
    low, high = min(f.min_subnormal for f in formats.values()), max(f.max for f in formats.values())
    return _chart(logarithmic, ink).filled(
        {VALUES: by_column(compare_rows(formats))},
        lines=list(formats),
        height=height,
        tall=min(row * _OF_ROW, _TALLEST),
        **({"ends": [low / 1.2, high * 1.2]} if logarithmic else {}),
    )


@template
def _chart(logarithmic: bool, ink: Ink) -> alt.LayerChart:
    if logarithmic:
        scale = alt.Scale(type="log", base=2, nice=False, domain=several("ends", [1.0, 2.0]))
        axis = alt.Axis(
            labelExpr=power_labels("round(log(datum.value) / LN2)"),
            tickCount=9,
            grid=True,
            labelOverlap=True,
        )
    else:
        scale = alt.Scale(domain=alt.ExprRef("[0, pow(2, top)]"), nice=False)
        axis = alt.Axis(grid=True, labelOverlap=True, format="~g")
    x = alt.X("x:Q", scale=scale, axis=axis, title="value (negative values mirror these)")
    y = alt.Y(
        "format:N",
        scale=alt.Scale(domain=several("lines", ["E4M3"])),
        title=None,
        axis=alt.Axis(labelLimit=150, domain=False, ticks=False, labelFontSize=14),
    )
    tips = [
        alt.Tooltip("format:N", title="format"),
        alt.Tooltip("text:N", title="value"),
        alt.Tooltip("code:N", title="code"),
    ]
    base = alt.Chart(alt.NamedData(VALUES)).encode(y=y, tooltip=tips)
    bars = base.transform_filter("isValid(datum.x2)").mark_bar(
        height=number_hole("tall", 16), color=ink.line, clip=True
    )
    ticks = base.transform_filter("!isValid(datum.x2)").mark_tick(
        size=number_hole("tall", 16), thickness=1.6, color=ink.dot, clip=True
    )
    chart = alt.layer(
        bars.encode(x=x, x2="x2:Q"), ticks.encode(x=x), height=number_hole("height", _AXIS_HEIGHT)
    )
    if not logarithmic:
        top = alt.param(
            name=TOP,
            value=START,
            bind=alt.binding_range(min=LOWEST, max=HIGHEST, step=1, name="log2 of the axis' end "),
        )
        chart = chart.add_params(top)
    return chart.configure_axis(
        labelColor=ink.text, titleColor=ink.soft, titleFontWeight="normal", gridColor=ink.hair
    )
