"""The distance of each rounded picture from the original after a blur."""

from collections.abc import Sequence

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, several, template
from pages.stochastic_rounding.charts.lines import (
    HEIGHT,
    NEAREST,
    STOCHASTIC,
    long_columns,
    roundings,
)

_NAMES = (NEAREST, STOCHASTIC)


def blur_chart(nearest: Sequence[float], noisy: Sequence[float], sigma: int, ink: Ink) -> Filled:
    """rms error over the blur, from 0 pixels on, with a rule at the blur of the pictures."""
    blurs = list(range(len(nearest)))
    lines = long_columns("blur", {NEAREST: (blurs, nearest), STOCHASTIC: (blurs, noisy)})
    return _chart(ink).filled(
        {"lines": lines, "shown": {"blur": [sigma]}},
        blurs=blurs,
        ends=[blurs[0], blurs[-1]],
        errors=[0.0, max(*nearest, *noisy)],
    )


@template
def _chart(ink: Ink) -> alt.LayerChart:
    x = alt.X(
        "blur:Q",
        title="blur (pixels)",
        scale=alt.Scale(domain=several("ends", [0, 1]), nice=False),
        axis=alt.Axis(values=several("blurs", [0, 1]), format="d", grid=False),
    )
    errors = alt.Scale(domain=several("errors", [0.0, 1.0]))
    series = roundings(_NAMES, ink)
    lines = (
        alt.Chart(alt.NamedData("lines"))
        .mark_line(point=alt.OverlayMarkDef(size=45), strokeWidth=2.5)
        .encode(
            x=x,
            y=alt.Y("y:Q", title="rms error (1 = white)", scale=errors),
            color=series.color(),
            strokeDash=series.dash(),
            tooltip=[
                alt.Tooltip("line:N", title="rounding"),
                alt.Tooltip("blur:Q", title="blur (pixels)"),
                alt.Tooltip("y:Q", title="rms error", format=".3~g"),
            ],
        )
    )
    shown = alt.Chart(alt.NamedData("shown")).mark_rule(color=ink.soft, strokeWidth=2).encode(x=x)
    return alt.layer(shown, lines).properties(width="container", height=HEIGHT - 30)
