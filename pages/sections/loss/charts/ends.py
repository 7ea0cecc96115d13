"""Where runs end: a point for each, in percent above the mean of bf16, over the band of its seeds."""

from collections.abc import Mapping, Sequence

import altair as alt

from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, number, several, template

POINTS, BAND, DELTA = "points", "band", "delta"
_ROW, _AROUND = 34, 60


def ends_chart(
    ends: Mapping[str, Sequence[float]], band: tuple[float, float], delta: float, ink: Ink
) -> Filled:
    """A row for each kind of run; a dashed line at `delta`, the difference that is to be shown."""
    values = [value for each in ends.values() for value in each]
    low, high = min([*values, band[0], -delta]), max([*values, band[1], delta])
    room = 0.06 * (high - low)
    columns = {
        "who": [name for name, each in ends.items() for _ in each],
        "percent": values,
    }
    return _template(ink).filled(
        {POINTS: columns, BAND: {"low": [band[0]], "high": [band[1]]}, DELTA: {"percent": [delta]}},
        names=list(ends),
        reach=[low - room, high + room],
        height=_AROUND + _ROW * len(ends),
    )


@template
def _template(ink: Ink) -> alt.LayerChart:
    scale = alt.Scale(domain=several("reach", [-1.0, 1.0]), nice=False)
    axis = alt.Axis(format="+.3~g", tickCount=8)
    title = "last loss above the mean of bf16, %"
    x = alt.X("percent:Q", title=title, scale=scale, axis=axis)
    y = alt.Y(
        "who:N",
        title=None,
        sort=None,
        scale=alt.Scale(domain=several("names", ["a recipe with a long title"])),
        axis=alt.Axis(labelLimit=220),
    )
    band = (
        alt.Chart(alt.NamedData(BAND))
        .mark_rect(color=ink.soft, opacity=0.28, aria=False)
        .encode(x=alt.X("low:Q", title=title, scale=scale, axis=axis), x2="high:Q")
    )
    delta = (
        alt.Chart(alt.NamedData(DELTA))
        .mark_rule(color=ink.k, strokeDash=[5, 4], strokeWidth=2, aria=False)
        .encode(x=x)
    )
    points = (
        alt.Chart(alt.NamedData(POINTS))
        .mark_point(size=90, filled=True, opacity=0.75, color=ink.scale)
        .encode(
            x=x,
            y=y,
            tooltip=[
                alt.Tooltip("who:N", title="run"),
                alt.Tooltip("percent:Q", title="above bf16, %", format="+.3f"),
            ],
        )
    )
    return dressed(alt.layer(band, delta, points, height=number("height", 200)), ink)
