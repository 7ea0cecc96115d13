"""Distributions of several tensors on one axis of sizes: octaves above and below each one's rms."""

from collections.abc import Mapping, Sequence

import altair as alt

from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, several, template

POINTS = "points"
TALL = 300
_DASHES = [[1, 0], [7, 3], [3, 2], [2, 2]]


def shapes_chart(shares: Mapping[str, Mapping[float, float]], ink: Ink) -> Filled:
    """A line a tensor: the share of its elements in each bin, by the bin's middle in octaves.

    The last one is a law to compare with.
    """
    rows = [(name, at, share) for name, bins in shares.items() for at, share in sorted(bins.items())]
    columns = {
        "who": [name for name, _, _ in rows],
        "at": [at for _, at, _ in rows],
        "share": [share for _, _, share in rows],
    }
    return _template(ink).filled({POINTS: columns}, names=list(shares), span=_span(columns["at"]))


def _span(at: Sequence[float]) -> list[float]:
    return [max(min(at), -_FAR), max(at) + 1]


_FAR = 20.0
"""Octaves below the rms: what lies farther out is left out of the picture."""


@template
def _template(ink: Ink) -> alt.LayerChart:
    names = several("names", ["w, weights"])
    legend = alt.Legend(orient="top", columns=4, labelLimit=300, labelColor=ink.text, symbolSize=140)
    lines = alt.Chart(alt.NamedData(POINTS)).encode(
        x=alt.X(
            "at:Q",
            title="log2 of |v| over the rms of its tensor",
            scale=alt.Scale(domain=several("span", [-20.0, 8.0]), nice=False),
            axis=alt.Axis(tickMinStep=1, tickCount=10, grid=False),
        ),
        y=alt.Y("share:Q", title="share of the elements", axis=alt.Axis(format="~%", tickCount=5)),
        color=alt.Color(
            "who:N",
            title=None,
            legend=legend,
            scale=alt.Scale(domain=names, range=[ink.text, ink.series[4], ink.series[10], ink.mid]),
        ),
        strokeDash=alt.StrokeDash(
            "who:N", title=None, legend=legend, scale=alt.Scale(domain=names, range=_DASHES)
        ),
    )
    points = lines.mark_point(size=40, opacity=0, clip=True).encode(
        strokeDash=alt.value([1, 0]),
        tooltip=[
            alt.Tooltip("who:N", title="tensor"),
            alt.Tooltip("at:Q", title="octaves from rms", format="+.2f"),
            alt.Tooltip("share:Q", title="share", format=".3%"),
        ],
    )
    return dressed(alt.layer(lines.mark_line(strokeWidth=2.5, clip=True), points, height=TALL), ink)
