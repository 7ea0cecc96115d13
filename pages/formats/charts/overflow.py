"""The results for numbers beyond the largest value, by format and policy."""

import json
import math
from collections.abc import Iterator, Mapping
from functools import lru_cache

import altair as alt
import numpy as np

from fp8core.formats import Format
from fp8core.rounding import Overflow
from pages.formats.charts.words import number
from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import NARROW, SMALLEST
from pages.kit.charts.template import Filled, by_column, several, template
from pages.kit.charts.template import number as number_hole

_ROW_HEIGHT, _AXIS_HEIGHT = 34, 90
INPUTS = ("max", "+ ½ step", "a bit more", "2 · max", "∞")
_SHORT = json.dumps(dict(zip(INPUTS, ("max", "+½", "more", "2×", "∞"), strict=True)), ensure_ascii=False)
"""Vega expression: the inputs' names where a telephone has no room for them."""
POLICIES = {Overflow.SATURATE: "saturate", Overflow.INF: "to infinity", Overflow.NAN: "to NaN"}
FINITE, INFINITE, NAN, MISSING = "largest value", "infinity", "NaN", "no such code"
CELLS = "cells"
_KEPT = 64
Row = dict[str, object]


def inputs(format_: Format) -> tuple[float, ...]:
    """The numbers that INPUTS names."""
    tie = format_.max + format_.gap_beyond / 2
    return format_.max, tie, math.nextafter(tie, math.inf), 2 * format_.max, math.inf


def overflow_rows(formats: Mapping[str, Format]) -> list[Row]:
    """One row a cell."""
    return [row for title, format_ in formats.items() for row in _rows_of(title, format_)]


@lru_cache(maxsize=_KEPT)
def _rows_of(title: str, format_: Format) -> tuple[Row, ...]:
    return tuple(
        {"line": line, "input": name, **cell}
        for policy, line in _lines(title).items()
        for name, cell in zip(INPUTS, _cells(format_, policy), strict=True)
    )


def _lines(title: str) -> dict[Overflow, str]:
    return {policy: f"{title}: {word}" for policy, word in POLICIES.items()}


def _cells(format_: Format, policy: Overflow) -> Iterator[Row]:
    """The results for each of the inputs."""
    if policy not in format_.overflows:
        yield from ({"came": "", "text": "–", "fate": MISSING} for _ in INPUTS)
        return
    came = inputs(format_)
    became = format_.decode(format_.encode(np.array(came), overflow=policy)).tolist()
    for name, x, value in zip(INPUTS, came, became, strict=True):
        fate = NAN if math.isnan(value) else FINITE if math.isfinite(value) else INFINITE
        more = "+" if name == INPUTS[2] else ""
        yield {"came": number(x, 7) + more, "text": number(value, 6), "fate": fate}


def overflow_chart(formats: Mapping[str, Format], ink: Ink) -> Filled:
    """A table: a line for each format and policy, a column for each input; results in words and color."""
    lines = [line for title in formats for line in _lines(title).values()]
    return _table(ink).filled(
        {CELLS: by_column(overflow_rows(formats))},
        lines=lines,
        height=len(lines) * _ROW_HEIGHT + _AXIS_HEIGHT,
    )


@template
def _table(ink: Ink) -> alt.LayerChart:
    base = alt.Chart(alt.NamedData(CELLS)).encode(
        x=alt.X(
            "input:N",
            title=None,
            axis=alt.Axis(
                orient="top",
                labelAngle=0,
                labelExpr=f"containerSize()[0] < {NARROW} ? ({_SHORT})[datum.label] : datum.label",
                ticks=False,
                domain=False,
                labelLimit=120,
                labelOverlap=False,
            ),
            scale=alt.Scale(domain=list(INPUTS), paddingInner=0.05, paddingOuter=0),
        ),
        y=alt.Y(
            "line:N",
            title=None,
            axis=alt.Axis(ticks=False, domain=False, labelLimit=220),
            scale=alt.Scale(domain=several("lines", ["E4M3: saturate"]), paddingInner=0.08, paddingOuter=0),
        ),
    )
    fates = alt.Scale(
        domain=[FINITE, INFINITE, NAN, MISSING], range=[ink.win, ink.lost_area, ink.lost_area, ink.hair]
    )
    cells = base.mark_rect().encode(
        color=alt.Color("fate:N", scale=fates, legend=None),
        tooltip=[
            alt.Tooltip("line:N", title="format and policy"),
            alt.Tooltip("came:N", title="number"),
            alt.Tooltip("text:N", title="becomes"),
        ],
    )
    came = base.mark_text(dy=-7, size=SMALLEST, color=ink.soft, aria=False).encode(text="came:N")
    became = base.mark_text(
        dy=alt.ExprRef("datum.came === '' ? 0 : 7"), size=12, fontWeight="bold", color=ink.text, aria=False
    ).encode(text="text:N")
    return (
        alt.layer(cells, came, became, height=number_hole("height", _AXIS_HEIGHT))
        .configure_axis(labelColor=ink.text, titleColor=ink.soft)
        .configure_view(stroke=None)
    )
