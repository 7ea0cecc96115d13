"""The results for numbers beyond the largest value, by format and policy."""

import math
from collections.abc import Iterator, Mapping

import altair as alt

from fp8core.formats import Format
from fp8core.rounding import Overflow
from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import SMALLEST
from pages.sections.formats.charts.words import number

_ROW_HEIGHT, _AXIS_HEIGHT = 34, 90
INPUTS = ("max", "+ ½ step", "a bit more", "2 · max", "∞")
POLICIES = {Overflow.SATURATE: "saturate", Overflow.INF: "to infinity", Overflow.NAN: "to NaN"}
FINITE, INFINITE, NAN, MISSING = "largest value", "infinity", "NaN", "no such code"
Row = dict[str, object]


def inputs(format_: Format) -> tuple[float, ...]:
    """The numbers that INPUTS names."""
    tie = format_.max + format_.gap_beyond / 2
    return format_.max, tie, math.nextafter(tie, math.inf), 2 * format_.max, math.inf


def overflow_rows(formats: Mapping[str, Format]) -> Iterator[Row]:
    """One row a cell."""
    for title, format_ in formats.items():
        for policy, word in POLICIES.items():
            line = f"{title}: {word}"
            for name, x in zip(INPUTS, inputs(format_), strict=True):
                if policy not in format_.overflows:
                    yield {"line": line, "input": name, "came": "", "text": "–", "fate": MISSING}
                    continue
                value = float(format_.decode(format_.encode(x, overflow=policy)))
                fate = NAN if math.isnan(value) else FINITE if math.isfinite(value) else INFINITE
                yield {
                    "line": line,
                    "input": name,
                    "came": number(x, 7) + ("+" if name == INPUTS[2] else ""),
                    "text": number(value, 6),
                    "fate": fate,
                }


def overflow_chart(formats: Mapping[str, Format], ink: Ink) -> alt.LayerChart:
    """A table: a line for each format and policy, a column for each input; results in words and color."""
    rows = list(overflow_rows(formats))
    lines = list(dict.fromkeys(str(row["line"]) for row in rows))
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X(
            "input:N",
            sort=list(INPUTS),
            title=None,
            axis=alt.Axis(
                orient="top", labelAngle=0, ticks=False, domain=False, labelLimit=120, labelOverlap=False
            ),
            scale=alt.Scale(paddingInner=0.05, paddingOuter=0),
        ),
        y=alt.Y(
            "line:N",
            sort=lines,
            title=None,
            axis=alt.Axis(ticks=False, domain=False, labelLimit=220),
            scale=alt.Scale(paddingInner=0.08, paddingOuter=0),
        ),
    )
    fates = alt.Scale(domain=[FINITE, INFINITE, NAN, MISSING], range=[ink.m, ink.bad, ink.k, ink.line])
    cells = base.mark_rect(opacity=0.22).encode(
        color=alt.Color(
            "fate:N", title=None, scale=fates, legend=alt.Legend(orient="bottom", labelColor=ink.text)
        ),
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
        alt.layer(cells, came, became)
        .properties(height=len(lines) * _ROW_HEIGHT + _AXIS_HEIGHT)
        .configure_axis(labelColor=ink.text, titleColor=ink.soft)
        .configure_view(stroke=None)
    )
