"""Bars of time, one a contender: the matmul first, so that bars compare, then the quantization.

Bars of this server are filled, bars of recorded times outlined.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.named_rows import WIDE, Rows, across, columns, names, row_axis
from pages.kit.charts.parts import dressed
from pages.kit.charts.recipe_marks import Mark
from pages.kit.charts.template import Filled, number, several, template

MATMUL, QUANTIZE = "matmul", "quantizing"
OURS, PEER = "ours", "peer"
LINE = 46  # pixels of a line at most
_AROUND = 34
_ASIDE = 380  # pixels at the right of a wide page: the figures at the bars, and the large one


@dataclass(frozen=True, kw_only=True)
class Contender:
    name: str
    mark: Mark
    median_us: float
    p20_us: float
    p80_us: float
    quantize_us: float | None = None
    is_ours: bool = False


@dataclass(frozen=True, kw_only=True)
class Figure:
    figure: str = ""
    words: str = ""
    more: str = ""


def timings(
    contenders: Sequence[Contender], figure: Figure, room: float, ink: Ink, *, is_recorded: bool
) -> Filled:
    unit, us = ("ms", 1e3) if max(c.median_us for c in contenders) >= 1e4 else ("µs", 1.0)
    parts = [(place, c, *part) for place, c in enumerate(contenders) for part in _parts(c)]
    longest = max(*(end for *_, end in parts), *(c.p80_us for c in contenders))
    bars = {
        "y": [place for place, *_ in parts],
        "who": [c.name for _, c, *_ in parts],
        "what": [what for _, _, what, _, _ in parts],
        "kind": [QUANTIZE if what == QUANTIZE else OURS if c.is_ours else PEER for _, c, what, _, _ in parts],
        "start": [start / us for *_, start, _ in parts],
        "end": [end / us for *_, end in parts],
        "time": [_time((end - start) / us, unit) for *_, start, end in parts],
    }
    ends = {
        **columns([c.name for c in contenders], [c.mark for c in contenders]),
        "who": [c.name for c in contenders],
        "p20": [c.p20_us / us for c in contenders],
        "p80": [c.p80_us / us for c in contenders],
        "spread": [
            f"{_time(c.p20_us / us, unit)} to {_time(c.p80_us / us, unit)}, 20th to 80th percentile"
            for c in contenders
        ],
        "whole": [max(c.median_us + (c.quantize_us or 0.0), c.p80_us) / us for c in contenders],
        "matmul": [_time(c.median_us / us, unit) for c in contenders],
        "quantize": [
            "" if c.quantize_us is None else f"+ {_time(c.quantize_us / us, unit)} to quantize"
            for c in contenders
        ],
        "plus": ["" if c.quantize_us is None else f"+ {_time(c.quantize_us / us, unit)}" for c in contenders],
        "ours": [c.is_ours for c in contenders],
    }
    rows = Rows(len(contenders), room, around=_AROUND, most=LINE)
    return _chart(ink, is_recorded).filled(
        {"bars": bars, "ends": ends, "figure": {name: [value] for name, value in vars(figure).items()}},
        times=[0.0, longest / us],
        bar=max(rows.thick, 0.5 * rows.step),
        **rows.holes(),
    )


@template
def _chart(ink: Ink, is_recorded: bool) -> alt.LayerChart:
    y = row_axis()
    scale = alt.Scale(domain=several("times", [0.0, 1.0]), range=across(_ASIDE, 140), nice=False)
    kinds, colors = [OURS, PEER, QUANTIZE], [ink.dot, ink.mid, ink.scale]
    color = alt.Color("kind:N", legend=None, scale=alt.Scale(domain=kinds, range=colors))
    outline = alt.Stroke("kind:N", legend=None, scale=alt.Scale(domain=kinds, range=colors))
    style = {"fill": ink.page, "strokeWidth": 1.5} if is_recorded else {"stroke": ink.page, "strokeWidth": 1}
    who, what, time, spread = (
        alt.Tooltip(f"{field}:N", title=title)
        for field, title in (("who", "contender"), ("what", "part"), ("time", "median"), ("spread", "spread"))
    )
    bars = alt.Chart(alt.NamedData("bars")).mark_bar(size=number("bar", 24.0), cornerRadius=2, **style)
    bars = bars.encode(
        y=y,
        x=alt.X("start:Q", title=None, scale=scale, axis=None),
        x2="end",
        **({"stroke": outline} if is_recorded else {"color": color}),
        tooltip=[who, what, time],
    )
    ends = alt.Chart(alt.NamedData("ends"))
    whisker = ends.mark_rule(color=ink.line, strokeWidth=3).encode(
        y=y, x=alt.X("p20:Q", scale=scale), x2="p80", tooltip=[who, spread]
    )
    words = {"align": "left", "baseline": "middle", "fontSize": 14}
    end = alt.X("whole:Q", scale=scale)
    figure = alt.Chart(alt.NamedData("figure"))
    wide, narrow = alt.ExprRef(f"{WIDE} ? 1 : 0"), alt.ExprRef(f"{WIDE} ? 0 : 1")
    at = alt.value(alt.ExprRef(f"{WIDE} ? width - 150 : 0"))
    matmul = ends.mark_text(**words, dx=8, fontWeight="bold", color=ink.text)
    quantize, plus = (
        ends.mark_text(**words, dx=64, color=ink.scale, opacity=shown) for shown in (wide, narrow)
    )
    figures = (
        figure.mark_text(align="left", color=ink.text, opacity=wide, **look).encode(
            x=at, y=alt.value(alt.ExprRef(f"min(height / 2, 70) + {down}")), text=f"{field}:N"
        )
        for field, down, look in (
            ("figure", -4, {"fontSize": 34, "fontWeight": "bold"}),
            ("words", 24, {"fontSize": 15}),
            ("more", 44, {"fontSize": 13}),
        )
    )
    chart = alt.layer(
        bars,
        whisker,
        matmul.encode(y=y, x=end, text="matmul:N"),
        quantize.encode(y=y, x=end, text="quantize:N"),
        plus.encode(y=y, x=end, text="plus:N"),
        *names(ends, y, ink),
        *figures,
    )
    return dressed(chart.properties(height=number("height", 200)), ink)


def _time(value: float, unit: str) -> str:
    return f"{value:.3g} {unit}" if value < 999.5 else f"{value:,.0f} {unit}"


def _parts(c: Contender) -> list[tuple[str, float, float]]:
    parts = [(MATMUL, 0.0, c.median_us)]
    if c.quantize_us is not None:
        parts.append((QUANTIZE, c.median_us, c.median_us + c.quantize_us))
    return parts
