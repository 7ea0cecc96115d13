"""The distance of each rounded picture from the original after a blur."""

from collections.abc import Sequence

import altair as alt

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

_NAMES = (NEAREST, STOCHASTIC)


def blur_chart(nearest: Sequence[float], noisy: Sequence[float], sigma: int, ink: Ink) -> Spec:
    """rms error over the blur, from 0 pixels on, with a rule at the blur of the pictures."""
    rows = long_rows("blur", range(len(nearest)), {NEAREST: nearest, STOCHASTIC: noisy})
    x = alt.X(
        "blur:Q",
        title="blur (pixels)",
        scale=alt.Scale(nice=False),
        axis=alt.Axis(values=list(range(len(nearest))), format="d", grid=False),
    )
    lines = (
        alt.Chart(alt.Data(name="lines"))
        .mark_line(point=alt.OverlayMarkDef(size=45), strokeWidth=2.5)
        .encode(
            x=x,
            y=alt.Y("y:Q", title="rms error (1 = white)", scale=alt.Scale(domainMin=0)),
            color=line_color(_NAMES, ink),
            strokeDash=line_dash(_NAMES),
            tooltip=[
                alt.Tooltip("line:N", title="rounding"),
                alt.Tooltip("blur:Q", title="blur (pixels)"),
                alt.Tooltip("y:Q", title="rms error", format=".3~g"),
            ],
        )
    )
    shown = alt.Chart(alt.Data(name="shown")).mark_rule(color=ink.soft, strokeWidth=2).encode(x=x)
    chart = alt.layer(shown, lines).properties(width="container", height=HEIGHT - 30)
    return filled(chart, lines=rows, shown=[{"blur": sigma}])
