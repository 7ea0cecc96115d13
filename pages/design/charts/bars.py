"""Errors of the three results as bars, a group a recipe."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, number, several, template
from pages.kit.charts.words import percent_text

ROWS = "errors"
_MOST, _ROOM, _FLAT_ROOM = 42, 500, 300
"""Pixels of a bar at most, and of all bars on a laptop and before a projector."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """The errors of one recipe by the symbol of the result."""

    name: str
    errors: Mapping[str, float]
    color: str


def bars(groups: Sequence[Group], results: tuple[str, ...], ink: Ink, *, is_flat: bool = False) -> Filled:
    """Horizontal bars, in percent, each with its result; the groups in their order."""
    marks = [(group.name, result, 100 * group.errors[result]) for group in groups for result in results]
    rows = {
        "group": [name for name, _, _ in marks],
        "result": [result for _, result, _ in marks],
        "color": [group.color for group in groups for _ in results],
        "percent": [percent for _, _, percent in marks],
        "words": [
            f"{result} {percent_text(percent / 100) if percent else '0'}" for _, result, percent in marks
        ],
    }
    top = max((percent for _, _, percent in marks), default=1.0) or 1.0
    room = _FLAT_ROOM if is_flat else _ROOM
    return _bars(results, ink).filled(
        {ROWS: rows},
        groups=[group.name for group in groups],
        ends=[0.0, 1.25 * top],
        height=min(room, _MOST * max(len(marks), 1)),
    )


@template
def _bars(results: tuple[str, ...], ink: Ink) -> alt.LayerChart:
    names = several("groups", ["yours"])
    base = alt.Chart(alt.NamedData(ROWS)).encode(
        x=alt.X(
            "percent:Q",
            scale=alt.Scale(domain=several("ends", [0.0, 1.0]), nice=False),
            axis=alt.Axis(title="relative error of the result, in percent", grid=True),
        ),
        y=alt.Y(
            "group:N",
            sort=names,
            scale=alt.Scale(domain=names, paddingInner=0.3),
            axis=alt.Axis(title=None, labelFontSize=13, labelLimit=170, domain=False, ticks=False),
        ),
        yOffset=alt.YOffset("result:N", scale=alt.Scale(domain=list(results)), bandPosition=0.5),
    )
    marks = base.mark_bar().encode(
        color=alt.Color("color:N", scale=None, legend=None),
        tooltip=[
            alt.Tooltip("group:N", title="recipe"),
            alt.Tooltip("words:N", title="relative error"),
        ],
    )
    words = base.mark_text(align="left", dx=4, fontSize=12, color=ink.text).encode(text="words:N")
    return (
        alt.layer(marks, words)
        .properties(height=number("height", 300))
        .configure_view(stroke=None)
        .configure_axis(gridColor=ink.hair)
    )
