"""Errors of the three results as bars, a group a recipe."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, number, several, template
from pages.kit.charts.words import percent_text

ROWS = "errors"
_BAR, _AROUND = 26, 80
"""Pixels of a bar with its share of the gaps. On a projector the words at bars of 22 met."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """The errors of one recipe by the symbol of the result."""

    name: str
    errors: Mapping[str, float]


def bars(groups: Sequence[Group], results: tuple[str, ...], ink: Ink) -> Filled:
    """Horizontal bars, in percent; the groups in their order."""
    marks = [(group.name, result, 100 * group.errors[result]) for group in groups for result in results]
    rows = {
        "group": [name for name, _, _ in marks],
        "result": [result for _, result, _ in marks],
        "percent": [percent for _, _, percent in marks],
        "words": [percent_text(percent / 100) if percent else "0" for _, _, percent in marks],
    }
    top = max((percent for _, _, percent in marks), default=1.0) or 1.0
    return _bars(results, ink).filled(
        {ROWS: rows},
        groups=[group.name for group in groups],
        ends=[0.0, 1.18 * top],
        height=_BAR * len(marks) + _AROUND,
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
            scale=alt.Scale(domain=names, paddingInner=0.25),
            axis=alt.Axis(title=None, labelFontSize=12, labelLimit=150),
        ),
        yOffset=alt.YOffset("result:N", scale=alt.Scale(domain=list(results)), bandPosition=0.5),
    )
    marks = base.mark_bar().encode(
        color=alt.Color(
            "result:N",
            scale=alt.Scale(domain=list(results), range=list(ink.series[: len(results)])),
            legend=alt.Legend(title=None, orient="top"),
        ),
        tooltip=[
            alt.Tooltip("group:N", title="recipe"),
            alt.Tooltip("result:N", title="result"),
            alt.Tooltip("words:N", title="relative error"),
        ],
    )
    words = base.mark_text(align="left", dx=4, fontSize=11, color=ink.text).encode(text="words:N")
    return (
        alt.layer(marks, words)
        .properties(height=number("height", 300))
        .configure_view(stroke=None)
        .configure_axis(gridColor=ink.line, gridOpacity=0.5)
    )
