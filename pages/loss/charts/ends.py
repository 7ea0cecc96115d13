"""Where runs end: a point for each, in percent above the mean of bf16, over the band of its seeds."""

from collections.abc import Mapping, Sequence

import altair as alt

from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.named_rows import Rows, across, columns, names, row_axis
from pages.kit.charts.recipe_marks import mark_of
from pages.kit.charts.template import Filled, number, several, template

POINTS, BAND, DELTA, ROWS = "points", "band", "delta", "rows"


def ends_chart(
    ends: Mapping[str, Sequence[float]],
    recipes: Mapping[str, str | None],
    band: tuple[float, float],
    delta: float,
    room: float,
    ink: Ink,
) -> Filled:
    """A row for each kind of run, whose recipes are by their titles; a dashed line at `delta`, the difference
    that is to be shown.
    """
    values = [value for each in ends.values() for value in each]
    low, high = min([*values, band[0], -delta]), max([*values, band[1], delta])
    edge = 0.04 * (high - low)
    marks = {name: mark_of(recipes[name]) for name in ends}
    rows = [(place, name, value) for place, (name, each) in enumerate(ends.items()) for value in each]
    points = {
        "y": [place for place, _, _ in rows],
        "who": [name for _, name, _ in rows],
        "percent": [value for _, _, value in rows],
        "color": [marks[name].color for _, name, _ in rows],
        "shape": [marks[name].shape for _, name, _ in rows],
    }
    return _template(ink).filled(
        {
            POINTS: points,
            BAND: {"low": [band[0]], "high": [band[1]]},
            DELTA: {"percent": [delta], "told": [f"to be shown: {delta:g}%"]},
            ROWS: columns(list(ends), list(marks.values())),
        },
        reach=[low - edge, high + edge],
        **Rows(len(ends), room, around=62).holes(),
    )


@template
def _template(ink: Ink) -> alt.LayerChart:
    scale = alt.Scale(domain=several("reach", [-1.0, 1.0]), range=across(16, 12), nice=False)
    axis = alt.Axis(format="+.3~g", tickCount=8, domain=False, ticks=False)
    title = "last loss above the mean of bf16, %"
    x = alt.X("percent:Q", title=title, scale=scale, axis=axis)
    y = row_axis()
    band = (
        alt.Chart(alt.NamedData(BAND))
        .mark_rect(color=ink.hair, aria=False)
        .encode(x=alt.X("low:Q", title=title, scale=scale, axis=axis), x2="high:Q")
    )
    delta = alt.Chart(alt.NamedData(DELTA)).encode(x=x)
    points = (
        alt.Chart(alt.NamedData(POINTS))
        .mark_point(size=80, filled=True, opacity=0.85)
        .encode(
            x=x,
            y=y,
            color=alt.Color("color:N", scale=None),
            shape=alt.Shape("shape:N", scale=None),
            tooltip=[
                alt.Tooltip("who:N", title="run"),
                alt.Tooltip("percent:Q", title="above bf16, %", format="+.3f"),
            ],
        )
    )
    return dressed(
        alt.layer(
            band,
            delta.mark_rule(color=ink.lost, strokeDash=[5, 4], strokeWidth=2, aria=False),
            delta.mark_text(align="left", baseline="bottom", dx=6, dy=-2, fontSize=13, color=ink.lost).encode(
                y=alt.value(0), text="told:N"
            ),
            points,
            *names(alt.Chart(alt.NamedData(ROWS)), y, ink),
            height=number("height", 400),
        ),
        ink,
    )
