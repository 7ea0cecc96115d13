"""The relative error of a dot product over its number of terms, for both roundings."""

import altair as alt

from fp8core.experiments.dot_noise import DotErrors
from pages.kit.charts.ink import Ink
from pages.sections.stochastic.charts.lines import (
    HEIGHT,
    NEAREST,
    STOCHASTIC,
    Spec,
    filled,
    line_color,
    line_dash,
    long_rows,
)

_NAMES = (STOCHASTIC, NEAREST)


def dot_chart(errors: DotErrors, domain: tuple[float, float], ink: Ink, floor: float | None = None) -> Spec:
    """The chart, both axes logarithmic. `floor` is the error that nearest's bias leaves for any number of
    terms.
    """
    terms = errors.terms.tolist()
    rows = long_rows("terms", terms, {STOCHASTIC: errors.stochastic, NEAREST: errors.nearest})
    x = alt.X(
        "terms:Q",
        title="K, terms of the dot product",
        scale=alt.Scale(type="log", base=2, nice=False),
        axis=alt.Axis(values=terms[::2], format=",d", grid=False),
    )
    y = {
        "title": "relative error",
        "scale": alt.Scale(type="log", domain=list(domain), nice=False),
        "axis": alt.Axis(format="~%", gridOpacity=0.5, tickCount=5),
    }
    lines = (
        alt.Chart(alt.Data(name="lines"))
        .mark_line(point=alt.OverlayMarkDef(size=40), strokeWidth=2.5)
        .encode(
            x=x,
            y=alt.Y("y:Q", **y),
            color=line_color(_NAMES, ink),
            strokeDash=line_dash(_NAMES),
            tooltip=[
                alt.Tooltip("line:N", title="rounding"),
                alt.Tooltip("terms:Q", title="K", format=","),
                alt.Tooltip("y:Q", title="relative error", format=".3~%"),
            ],
        )
    )
    layers = [lines]
    if floor is not None:
        mark = alt.Chart(alt.Data(name="floor"))
        layers += [
            mark.mark_rule(color=ink.bad, strokeWidth=1, opacity=0.8).encode(y=alt.Y("y:Q", **y)),
            mark.mark_text(align="left", x=4, dy=-7, color=ink.bad, fontSize=12).encode(
                y=alt.Y("y:Q", **y), text="what:N"
            ),
        ]
    chart = alt.layer(*layers).properties(width="container", height=HEIGHT)
    bias = [] if floor is None else [{"y": floor, "what": "nearest's bias"}]
    return filled(chart, lines=rows, floor=bias)
