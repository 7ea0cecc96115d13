"""Bars of time, one a contender: the matmul first, so that bars compare, then the quantization."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.template import Filled, number, several, template, text

MATMUL, QUANTIZE = "matmul", "quantizing"
_BAR = 26
_AROUND = 100
_WHISKER = "#808790"


@dataclass(frozen=True, kw_only=True)
class Contender:
    """One bar, in microseconds. `quantize_us` is None where nothing is quantized or it was not timed."""

    name: str
    median_us: float
    p20_us: float
    p80_us: float
    quantize_us: float | None = None


def timings(contenders: Sequence[Contender]) -> Filled:
    """Bars of median time, with a whisker from the 20th to the 80th percentile on the matmul."""
    unit, us = ("ms", 1e3) if max(c.median_us for c in contenders) >= 1e4 else ("µs", 1.0)
    parts = [(c.name, *part) for c in contenders for part in _parts(c)]
    longest = max(*(end for _, _, _, end in parts), *(c.p80_us for c in contenders))
    bars = {
        "who": [who for who, _, _, _ in parts],
        "what": [what for _, what, _, _ in parts],
        "start": [start / us for _, _, start, _ in parts],
        "end": [end / us for _, _, _, end in parts],
        "time": [(end - start) / us for _, _, start, end in parts],
    }
    whiskers = {
        "who": [c.name for c in contenders],
        "p20": [c.p20_us / us for c in contenders],
        "p80": [c.p80_us / us for c in contenders],
    }
    return _chart().filled(
        {"bars": bars, "whiskers": whiskers},
        names=[c.name for c in contenders],
        times=[0.0, longest / us],
        axis=f"time ({unit})",
        median=f"median ({unit})",
        p20=f"20th percentile ({unit})",
        p80=f"80th percentile ({unit})",
        height=len(contenders) * (_BAR + 18) + _AROUND,
    )


@template
def _chart() -> alt.LayerChart:
    who = alt.Y(
        "who:N",
        title=None,
        scale=alt.Scale(domain=several("names", ["this kernel"])),
        axis=alt.Axis(labelLimit=220),
    )
    time = alt.Scale(domain=several("times", [0.0, 1.0]))
    bars = (
        alt.Chart(alt.NamedData("bars"))
        .mark_bar(size=_BAR)
        .encode(
            y=who,
            x=alt.X("start:Q", title=text("axis", "time (µs)"), scale=time),
            x2="end",
            color=alt.Color(
                "what:N",
                title=None,
                scale=alt.Scale(domain=[MATMUL, QUANTIZE]),
                legend=alt.Legend(orient="bottom", columns=1, symbolLimit=2),
            ),
            tooltip=[
                alt.Tooltip("who:N", title="contender"),
                alt.Tooltip("what:N", title="part"),
                alt.Tooltip("time:Q", title=text("median", "median (µs)"), format=".4~g"),
            ],
        )
    )
    spread = (
        alt.Chart(alt.NamedData("whiskers"))
        .mark_rule(color=_WHISKER, strokeWidth=4)
        .encode(
            y=who,
            x="p20:Q",
            x2="p80",
            tooltip=[
                alt.Tooltip("who:N", title="contender"),
                alt.Tooltip("p20:Q", title=text("p20", "20th percentile (µs)"), format=".4~g"),
                alt.Tooltip("p80:Q", title=text("p80", "80th percentile (µs)"), format=".4~g"),
            ],
        )
    )
    return alt.layer(bars, spread).properties(height=number("height", 300))


def _parts(c: Contender) -> list[tuple[str, float, float]]:
    parts = [(MATMUL, 0.0, c.median_us)]
    if c.quantize_us is not None:
        parts.append((QUANTIZE, c.median_us, c.median_us + c.quantize_us))
    return parts
