"""Kernels of a step beside their bounds: the time that is needed in full color, the time lost pale."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.fused.charts.facts import Paint, color_scale, roles_legend
from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.labels import LETTERS, WORDS, without_names, words_above
from pages.kit.charts.template import Filled, number, several, template

LINE = 22 + LETTERS
_BAR, _AROUND = 17, 120
_PALE = 0.35
_FIGURES = 150
"""Pixels behind the longest bar, for its figures."""
BOUNDS = "bounds"


@dataclass(frozen=True, kw_only=True)
class Bound:
    """A kernel, its role, its time and its bound, and its figures in words."""

    what: str
    role: str
    time_us: float
    least_us: float
    figures: str


def bounds_chart(found: Sequence[Bound], roles: tuple[Paint, ...], ink: Ink) -> Filled:
    """A line a kernel, from top to bottom in the order in which they run."""
    lines = [f"{place}. {one.what}" for place, one in enumerate(found, 1)]
    columns = {
        "line": lines,
        "role": [one.role for one in found],
        "zero": [0.0] * len(found),
        "time": [one.time_us for one in found],
        "least": [one.least_us for one in found],
        "lost": [one.time_us - one.least_us for one in found],
        WORDS: lines,
        "figures": [one.figures for one in found],
    }
    return _chart(roles, ink).filled(
        {BOUNDS: columns},
        lines=lines,
        roles=[role.name for role in roles if role.name in columns["role"]],
        across=[0.0, max(one.time_us for one in found)],
        height=LINE * len(found) + _AROUND,
    )


@template
def _chart(roles: tuple[Paint, ...], ink: Ink) -> alt.LayerChart:
    y = alt.Y(
        "line:N",
        title=None,
        scale=alt.Scale(domain=several("lines", ["1. quantize x [4096, 4096] for Fprop and Wgrad"])),
        axis=without_names(),
    )
    reach = [0, alt.ExprRef(f"width - {_FIGURES}")]
    across = alt.Scale(domain=several("across", [0.0, 1.0]), range=reach, nice=False)
    x = alt.X("zero:Q", title="µs", scale=across, axis=alt.Axis(tickCount=5, format=",~f"))
    color = alt.Color("role:N", title=None, scale=color_scale(roles, ink), legend=roles_legend(roles, ink))
    tooltip = [
        alt.Tooltip("line:N", title="kernel"),
        alt.Tooltip("role:N", title="role"),
        alt.Tooltip("time:Q", title="µs", format=",.1f"),
        alt.Tooltip("least:Q", title="bound, µs", format=",.1f"),
        alt.Tooltip("lost:Q", title="lost, µs", format=",.1f"),
    ]
    base = alt.Chart(alt.NamedData(BOUNDS)).encode(y=y)
    chart = alt.layer(
        base.mark_bar(size=_BAR, opacity=_PALE).encode(x=x, x2="time", color=color, tooltip=tooltip),
        base.mark_bar(size=_BAR).encode(x=x, x2="least", color=color, tooltip=tooltip),
        words_above(base, _BAR, ink),
        base.mark_text(align="left", dx=6, fontSize=12, color=ink.text).encode(
            x=alt.X("time:Q", scale=across), text="figures:N"
        ),
    )
    return dressed(chart.properties(height=number("height", 400)), ink)
