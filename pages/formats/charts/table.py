"""Every code of a small format: rows by the upper bits, columns by the lower four, colored by magnitude."""

import math
from functools import lru_cache

import altair as alt

from fp8core.formats import Format
from fp8core.formats.spelling import Kind, kind_of
from pages.formats.charts.words import glance, hexadecimal, number
from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import SMALLEST
from pages.kit.charts.template import Filled, arrow, by_column, several, template
from pages.kit.charts.template import number as number_hole
from pages.kit.charts.template import text as text_hole

PICK, CODES, CURRENT = "pick", "codes", "current"
LARGEST = 8
_KEPT = 64
_COLUMN_BITS = 4
_ROW_HEIGHT, _AXIS_HEIGHT = 22, 86
_NEAR, _NEAR_HEIGHT = 8, 44
"""Rows and columns of the table that is enlarged, and pixels of its rows."""
_LEAST_WIDTH = 34
Row = dict[str, object]


def columns_of(bits: int) -> int:
    return 1 << min(_COLUMN_BITS, bits)


def cell(bits: int, code: int) -> Row:
    """The place of a code in the table."""
    return {"code": code, "row": code // columns_of(bits), "column": code % columns_of(bits)}


def table_rows(format_: Format) -> list[Row]:
    """One row a code."""
    finite = [abs(v) for v in format_.values.tolist() if math.isfinite(v) and v]
    low, high = math.log2(min(finite)), math.log2(max(finite))
    middle = (low + high) / 2
    rows = []
    for code, value in enumerate(format_.values.tolist()):
        log2 = math.log2(abs(value)) if math.isfinite(value) and value else None
        kind = kind_of(format_, code, value)
        is_plain = kind in (Kind.NAN, Kind.INFINITY, Kind.ZERO)
        rows.append(
            {
                **cell(format_.bits, code),
                "text": glance(value),
                "log2": log2,
                "low": log2 is not None and log2 < middle,
                "what": number(value) if is_plain else f"{number(value)}, {kind.value}",
                "bits": f"{hexadecimal(code, format_)} = {code:0{format_.bits}b}",
            }
        )
    return rows


@lru_cache(maxsize=_KEPT)
def _codes(format_: Format) -> bytes:
    return arrow(by_column(table_rows(format_)))


def code_table(format_: Format, current: int, ink: Ink, *, is_near: bool = False) -> Filled:
    """The table of all codes, the current one outlined; or the codes around the current one, enlarged."""
    columns = columns_of(format_.bits)
    rows = (1 << format_.bits) // columns
    spot = cell(format_.bits, current)
    across, down = range(columns), range(rows)
    if is_near:
        across, down = _around(spot["column"], columns), _around(spot["row"], rows)
    return _table(ink).filled(
        {CODES: _codes(format_), CURRENT: by_column([spot])},
        columns=list(across),
        rows=list(down),
        upper_bits="upper bits" if rows > 1 else None,
        has_words=f"width / {len(across)} < {_LEAST_WIDTH} ? 0 : 1",
        height=len(down) * (_NEAR_HEIGHT if is_near else _ROW_HEIGHT) + _AXIS_HEIGHT,
    )


def _around(spot: int, count: int) -> range:
    """The neighbors of a row or a column of `count`, itself included."""
    first = min(max(spot - _NEAR // 2, 0), max(count - _NEAR, 0))
    return range(first, min(first + _NEAR, count))


@template
def _table(ink: Ink) -> alt.LayerChart:
    low_digit = "format(datum.value, 'x')"
    across = alt.X(
        "column:O",
        title="lower four bits",
        axis=alt.Axis(orient="top", labelAngle=0, labelExpr=f"'_' + {low_digit}", ticks=False, domain=False),
        scale=alt.Scale(domain=several("columns", [0.0]), paddingInner=0.04, paddingOuter=0),
    )
    down = alt.Y(
        "row:O",
        title=text_hole("upper_bits", "upper bits"),
        axis=alt.Axis(labelExpr=f"{low_digit} + '_'", ticks=False, domain=False, labelOverlap=False),
        scale=alt.Scale(domain=several("rows", [0.0]), paddingInner=0.06, paddingOuter=0),
    )
    values = alt.Chart(alt.NamedData(CODES)).encode(x=across, y=down)
    color = alt.Fill("log2:Q", scale=alt.Scale(range=list(ink.ramp)), legend=None)
    special = alt.when("!isValid(datum.log2)")
    low, high = ink.text, ink.page
    return (
        alt.layer(
            values.mark_rect(invalid=None, aria=False).encode(
                fill=special.then(alt.value(ink.panel)).otherwise(color)
            ),
            values.mark_text(
                size=SMALLEST, aria=False, opacity=alt.ExprRef(text_hole("has_words", "1"))
            ).encode(
                text="text:N",
                color=special.then(alt.value(ink.text))
                .when("datum.low")
                .then(alt.value(low))
                .otherwise(alt.value(high)),
            ),
            alt.Chart(alt.NamedData(CURRENT))
            .mark_rect(fill=None, stroke=ink.text, strokeWidth=3.5, aria=False)
            .encode(x=across, y=down),
            values.mark_rect(opacity=0, cursor="pointer")
            .encode(tooltip=[alt.Tooltip("what:N", title="value"), alt.Tooltip("bits:N", title="code")])
            .add_params(
                alt.selection_point(
                    name=PICK, on="click", toggle="true", clear=False, empty=False, fields=["code"]
                )
            ),
            height=number_hole("height", 16 * _ROW_HEIGHT + _AXIS_HEIGHT),
        )
        .configure_view(stroke=None)
        .configure_axis(labelColor=ink.soft, titleColor=ink.soft, titleFontWeight="normal", grid=False)
    )
