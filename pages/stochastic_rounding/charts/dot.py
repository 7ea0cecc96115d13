"""The relative error of a dot product over its number of terms, for both roundings."""

import altair as alt

from fp8core.experiments.dot_noise import DotErrors
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, several, template, text
from pages.stochastic_rounding.charts.lines import (
    HEIGHT,
    NEAREST,
    STOCHASTIC,
    long_columns,
    roundings,
)

_NAMES = (STOCHASTIC, NEAREST)


def dot_chart(
    errors: DotErrors, domain: tuple[float, float], title: str, ink: Ink, floor: float | None = None
) -> Filled:
    """The chart, both axes logarithmic. `floor` is the error that nearest's bias leaves for any number of
    terms.
    """
    terms = errors.terms.tolist()
    lines = {STOCHASTIC: (terms, errors.stochastic), NEAREST: (terms, errors.nearest)}
    datasets = {"lines": long_columns("terms", lines)}
    if floor is not None:
        datasets["floor"] = {"y": [floor], "what": ["nearest's bias"]}
    return _chart(ink, has_floor=floor is not None).filled(
        datasets, ends=[terms[0], terms[-1]], ticks=terms[::2], errors=list(domain), title=title
    )


@template
def _chart(ink: Ink, *, has_floor: bool) -> alt.LayerChart:
    x = alt.X(
        "terms:Q",
        title="K, terms",
        scale=alt.Scale(type="log", base=2, domain=several("ends", [4, 8]), nice=False),
        axis=alt.Axis(values=several("ticks", [4, 8]), format=",d", grid=False),
    )
    y = alt.Y(
        "y:Q",
        title="relative error",
        scale=alt.Scale(type="log", domain=several("errors", [0.01, 1.0]), nice=False),
        axis=alt.Axis(format="~%", gridOpacity=0.5, tickCount=5),
    )
    series = roundings(_NAMES, ink)
    lines = (
        alt.Chart(alt.NamedData("lines"))
        .mark_line(point=alt.OverlayMarkDef(size=40), strokeWidth=2.5)
        .encode(
            x=x,
            y=y,
            color=series.color(),
            strokeDash=series.dash(),
            tooltip=[
                alt.Tooltip("line:N", title="rounding"),
                alt.Tooltip("terms:Q", title="K", format=","),
                alt.Tooltip("y:Q", title="relative error", format=".3~%"),
            ],
        )
    )
    layers = [lines]
    if has_floor:
        mark = alt.Chart(alt.NamedData("floor")).encode(y=y)
        layers += [
            mark.mark_rule(color=ink.lost, strokeWidth=1, opacity=0.8),
            mark.mark_text(align="left", x=4, dy=-7, color=ink.lost, fontSize=12).encode(text="what:N"),
        ]
    title = alt.TitleParams(text("title", "Terms"), anchor="start", fontSize=15, color=ink.text)
    return alt.layer(*layers).properties(width="container", height=HEIGHT, title=title)
