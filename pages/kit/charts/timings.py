"""Bars of time, one a contender: the matmul first, so that bars compare, then the quantization."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

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


def timings(contenders: Sequence[Contender]) -> alt.LayerChart:
    """Bars of median time, with a whisker from the 20th to the 80th percentile on the matmul."""
    unit, us = ("ms", 1e3) if max(c.median_us for c in contenders) >= 1e4 else ("µs", 1.0)
    parts = [
        {"who": c.name, "what": what, "start": start / us, "end": end / us, "time": (end - start) / us}
        for c in contenders
        for what, start, end in _parts(c)
    ]
    whiskers = [{"who": c.name, "p20": c.p20_us / us, "p80": c.p80_us / us} for c in contenders]
    who = alt.Y("who:N", title=None, sort=[c.name for c in contenders], axis=alt.Axis(labelLimit=220))
    bars = (
        alt.Chart(alt.Data(values=parts))
        .mark_bar(size=_BAR)
        .encode(
            y=who,
            x=alt.X("start:Q", title=f"time ({unit})", scale=alt.Scale(domainMin=0)),
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
                alt.Tooltip("time:Q", title=f"median ({unit})", format=".4~g"),
            ],
        )
    )
    spread = (
        alt.Chart(alt.Data(values=whiskers))
        .mark_rule(color=_WHISKER, strokeWidth=4)
        .encode(
            y=who,
            x="p20:Q",
            x2="p80",
            tooltip=[
                alt.Tooltip("who:N", title="contender"),
                alt.Tooltip("p20:Q", title=f"20th percentile ({unit})", format=".4~g"),
                alt.Tooltip("p80:Q", title=f"80th percentile ({unit})", format=".4~g"),
            ],
        )
    )
    return alt.layer(bars, spread).properties(height=len(contenders) * (_BAR + 18) + _AROUND)


def _parts(c: Contender) -> list[tuple[str, float, float]]:
    parts = [(MATMUL, 0.0, c.median_us)]
    if c.quantize_us is not None:
        parts.append((QUANTIZE, c.median_us, c.median_us + c.quantize_us))
    return parts
