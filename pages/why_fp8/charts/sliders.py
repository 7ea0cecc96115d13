"""The highest speed of one matmul over the tokens: memory limits it first, then the tensor cores.

The slider works in the browser: it moves the mark on every line.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.labels import beside
from pages.kit.charts.legible import NARROW
from pages.kit.charts.template import Filled, by_column, number, several, template

LINES, ENDS, TURN = "lines", "ends", "turn"
TOKENS = "power"
"""The parameter of the slider: log2 of the tokens."""
_TICKS = [digit * 10.0**power for power in range(-2, 5) for digit in (1, 2, 5)]
_FEW = [0, 2, 4, 6, 8, 10, 12, 14, 16]
_SIDES = 28
"""Pixels of the words on both sides of the bend, at the foot."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """A format at so many tokens: its speed, and what limits it.

    `gain`: fp8 over bf16, in bf16's points at the slider's powers of two.
    """

    format: str
    tokens: int
    tflop_s: float
    limit: str
    gain: float | None = None


def limits_chart(points: Sequence[Point], turn: int, most: int, room: int, ink: Ink) -> Filled:
    """A line for each format, up to 2**most tokens. `turn`: tokens from which the tensor cores limit bf16."""
    columns = {
        "format": [p.format for p in points],
        "tokens": [p.tokens for p in points],
        "speed": [p.tflop_s for p in points],
        "limit": [p.limit for p in points],
        "gain": ["" if p.gain is None else f"{p.gain:.1f} ×" for p in points],
    }
    low = min(p.tflop_s for p in points if p.tokens == 1 << most)
    ends = [
        {
            "tokens": p.tokens,
            "speed": p.tflop_s,
            "words": f"{p.format}: {p.tflop_s:,.0f}",
            "low": p.tflop_s <= low,
        }
        for p in points
        if p.tokens == 1 << most
    ]
    speeds = columns["speed"]
    return _chart(ink).filled(
        {LINES: columns, ENDS: by_column(ends), TURN: {"tokens": [turn] if turn < 1 << most else []}},
        most=most,
        power=0,
        height=room,
        across=[1, 1 << most],
        speeds=[min(speeds) / 1.5, max(speeds) * 1.8],
    )


def _axes() -> tuple[alt.X, alt.Y]:
    """Tokens across and rates up, both logarithmic."""
    x = alt.X(
        "tokens:Q",
        title="tokens",
        scale=alt.Scale(type="log", base=2, domain=several("across", [1.0, 2.0]), nice=False),
        axis=alt.Axis(values=[2.0**k for k in _FEW], format=",d", labelOverlap=True, grid=False),
    )
    y = alt.Y(
        "speed:Q",
        title="TFLOP/s, at most",
        scale=alt.Scale(type="log", domain=several("speeds", [0.5, 9000.0]), nice=False),
        axis=alt.Axis(values=_TICKS, format=",~f", labelOverlap=True),
    )
    return x, y


@template
def _chart(ink: Ink) -> alt.LayerChart:
    x, y = _axes()
    names = ["bf16", "fp8", "fp4"]
    color = alt.Color(
        "format:N", legend=None, scale=alt.Scale(domain=names, range=[ink.mid, ink.text, ink.text])
    )
    dash = alt.StrokeDash(
        "format:N", legend=None, scale=alt.Scale(domain=names, range=[[1, 0], [1, 0], [6, 4]])
    )
    every = alt.Chart(alt.NamedData(LINES)).encode(x=x, y=y, color=color)
    now = every.transform_filter(f"datum.tokens == pow(2, {TOKENS})")
    base = {"aria": False, "fontSize": alt.ExprRef(f"containerSize()[0] < {NARROW} ? 12 : 15")}
    turn = alt.Chart(alt.NamedData(TURN)).encode(x=x)
    foot = alt.value(alt.ExprRef("height"))
    sides = [
        turn.mark_text(align=side, baseline="bottom", dx=dx, dy=-8, color=ink.soft, text=words, **base)
        for side, dx, words in (("right", -10, "memory is the limit"), ("left", 10, "the tensor cores are"))
    ]
    ends = [
        alt.Chart(alt.NamedData(ENDS))
        .transform_filter(which)
        .mark_text(align="right", baseline=baseline, dy=dy, fontWeight="bold", color=ink.text, **base)
        .encode(x=x, y=y, text="words:N")
        for which, baseline, dy in (("!datum.low", "bottom", -8), ("datum.low", "top", 8))
    ]
    drop = now.transform_filter("datum.format == 'bf16'").mark_rule(
        color=ink.text, strokeDash=[2, 3], strokeWidth=1.5, aria=False
    )
    points = now.mark_point(filled=True, size=150, opacity=1).encode(
        tooltip=[
            alt.Tooltip("format:N", title="operands"),
            alt.Tooltip("tokens:Q", title="tokens", format=",d"),
            alt.Tooltip("speed:Q", title="TFLOP/s at most", format=",.4~g"),
            alt.Tooltip("limit:N", title="limited by"),
        ],
    )
    slider = alt.param(
        name=TOKENS,
        value=number("power", 0),
        bind=alt.binding_range(min=0, max=number("most", 17), step=1, name="Tokens, as a power of two "),
    )
    chart = alt.layer(
        turn.mark_rule(color=ink.line, strokeWidth=1, aria=False),
        *(side.encode(y=foot) for side in sides),
        every.mark_line(strokeWidth=2.5, aria=False).encode(strokeDash=dash),
        drop.encode(
            y=alt.value(0), y2=alt.value(alt.ExprRef(f"height - {_SIDES}")), color=alt.value(ink.text)
        ),
        *_gains(now, ink),
        points,
        *ends,
        height=number("height", 500),
    )
    return chart.add_params(slider).configure_view(stroke=None).configure_axis(gridColor=ink.hair)


def _gains(now: alt.Chart, ink: Ink) -> list[alt.Chart]:
    """The tokens at the slider and the gain of fp8 there, on the side that has room."""
    at = now.transform_filter("datum.format == 'bf16'").transform_calculate(
        words="format(datum.tokens, ',d') + (datum.tokens == 1 ? ' token' : ' tokens')"
    )
    return [
        one.encode(text=f"{field}:N", color=alt.value(ink.text))
        for field, dy, size, weight in (("gain", 28, 34, "bold"), ("words", 74, 15, "normal"))
        for one in beside(
            at, "datum.tokens > 5000", baseline="top", dy=dy, fontSize=size, fontWeight=weight, aria=False
        )
    ]
