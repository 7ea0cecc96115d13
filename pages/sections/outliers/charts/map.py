"""The error map of one recipe: a color a tile, as a picture; a pointer over it is told a region's figures."""

import base64

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Columns, Filled, several, template, text

PICTURE, REGIONS = "picture", "regions"
TALL = 230


def map_chart(
    png: bytes, regions: Columns, shape: tuple[int, int], names: tuple[str, str], ink: Ink
) -> Filled:
    """The picture over a tensor of `shape`; `names` are those of its rows and columns.

    `regions` has the columns row0, row1, column0, column1, error and zeros.
    """
    rows, columns = shape
    url = "data:image/png;base64," + base64.b64encode(png).decode("ascii")
    picture = {"url": [url], "x": [columns / 2], "y": [rows / 2]}
    return _map(ink).filled(
        {PICTURE: picture, REGIONS: regions},
        rows=[0, rows],
        columns=[0, columns],
        down=names[0],
        across=names[1],
    )


@template
def _map(ink: Ink) -> alt.LayerChart:
    x = alt.X(
        "x:Q",
        scale=alt.Scale(domain=several("columns", [0.0, 1.0]), nice=False),
        axis=alt.Axis(title=text("across", "in"), grid=False, tickCount=4, format=",d"),
    )
    y = alt.Y(
        "y:Q",
        scale=alt.Scale(domain=several("rows", [0.0, 1.0]), nice=False, reverse=True),
        axis=alt.Axis(title=text("down", "tokens"), grid=False, tickCount=3, format=",d"),
    )
    size = {"width": alt.ExprRef("width"), "height": alt.ExprRef("height")}
    picture = (
        alt.Chart(alt.NamedData(PICTURE))
        .mark_image(aspect=False, smooth=False, aria=False, **size)
        .encode(x=x, y=y, url="url:N")
    )
    told = (
        alt.Chart(alt.NamedData(REGIONS))
        .mark_rect(fillOpacity=0, fill=ink.text)
        .encode(
            x=alt.X("column0:Q"),
            x2="column1:Q",
            y=alt.Y("row0:Q"),
            y2="row1:Q",
            tooltip=[
                alt.Tooltip("where:N", title="region"),
                alt.Tooltip("error:Q", title="error", format=".3~p"),
                alt.Tooltip("zeros:Q", title="become zero", format=".3~p"),
            ],
        )
    )
    return alt.layer(picture, told, height=TALL).configure_view(stroke=ink.line)
