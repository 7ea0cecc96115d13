"""Error maps below one another: a level an element, and how many become zero outside the outlier channels."""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pages.kit.charts.ink import Ink
from pages.kit.charts.recipe_marks import Mark
from pages.kit.charts.template import Filled, by_column, number, several, template

ROWS, CHANNELS, TILES, REGIONS, HEAD = "rows", "channels", "tiles", "regions", "head"
ZERO, SHADES = 255, 254
"""The level of an element that became zero, and the largest of all others."""
_LEFT, _RIGHT, _GAP = 165, 270, 36
"""Pixels for the names, for the figures, and between a map and its figure."""
_NARROW, _PLACES = "width < 640", "rows_high"
_ABOVE, _UNDER = 0.72, 0.22
"""Heights of rows, for the largest number of each channel and for the legend."""
_HIGH = 0.76
"""The share of a row that is the map."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One recipe: `levels` uint8[rows, columns], None where it stays bf16; `tile` is its width in columns."""

    name: str
    about: str
    mark: Mark
    levels: NDArray[np.uint8] | None
    zeros: float
    told: str
    tile: int
    regions: Sequence[dict[str, object]]


def map_chart(
    rows: Sequence[Row],
    columns: range,
    largest: Sequence[float],
    outliers: Sequence[bool],
    share_of: str,
    height: float,
    ink: Ink,
) -> Filled:
    """A map a recipe over these columns. `share_of` says what the figures at the right count."""
    top = max(largest, default=0.0) or 1.0
    channels = [
        {"at": at + 0.5, "size": size / top, "is_outlier": bool(is_outlier)}
        for at, size, is_outlier in zip(columns, largest, outliers, strict=True)
    ]
    shown = [_row(place, row, ink) for place, row in enumerate(rows)]
    regions = [{**region, "place": place} for place, row in enumerate(rows) for region in row.regions]
    tiles = [tile for place, row in enumerate(rows) for tile in _tiles(place, row.tile, columns, outliers)]
    places = _ABOVE + len(rows) + _UNDER
    return _map(ink).filled(
        {
            ROWS: by_column(shown),
            CHANNELS: by_column(channels),
            TILES: by_column(tiles) or {name: [] for name in ("place", "from", "to", "told")},
            REGIONS: by_column(regions) or {name: [] for name in ("place", *_REGION)},
            HEAD: {"left": ["largest number\nof each channel"], "right": [share_of]},
        },
        columns=[columns.start, columns.stop],
        places=[0.0, places],
        high=places,
        height=height,
    )


_REGION = ("where", "column0", "column1", "down0", "down1", "error", "zeros")


def _row(place: int, row: Row, ink: Ink) -> dict[str, object]:
    return {
        "place": place,
        "name": row.name,
        "about": row.about,
        "shape": row.mark.shape,
        "color": row.mark.color,
        "url": "" if row.levels is None else _url(row.levels, ink),
        "zeros": row.zeros,
        "told": row.told,
        "is_bad": row.zeros >= 0.01,
    }


def _tiles(place: int, wide: int, columns: range, outliers: Sequence[bool]) -> list[dict[str, object]]:
    """A bracket below each tile with an outlier channel, unless it is as wide as the picture or a line."""
    if wide < 2 or 2 * wide > len(columns):
        return []
    starts = {at // wide * wide for at, is_outlier in zip(columns, outliers, strict=True) if is_outlier}
    found = sorted(start for start in starts if start >= columns.start and start + wide <= columns.stop)
    return [
        {"place": place, "from": start, "to": start + wide, "told": f"a tile of {wide}" if not number else ""}
        for number, start in enumerate(found)
    ]


def _url(levels: NDArray[np.uint8], ink: Ink) -> str:
    """A picture of levels, from the page's color to gray; what became zero has the color of what is lost."""
    low, high, lost = (
        np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)])
        for color in (ink.panel, ink.mid, ink.lost)
    )
    shades = low + (high - low) * np.linspace(0, 1, SHADES + 1)[:, None]
    picture = Image.fromarray(levels)
    picture.putpalette(np.vstack([shades, lost]).round().astype(np.uint8).tobytes())
    held = io.BytesIO()
    picture.save(held, "PNG", compress_level=1)
    return "data:image/png;base64," + base64.b64encode(held.getvalue()).decode("ascii")


@template
def _map(ink: Ink) -> alt.LayerChart:
    down = alt.Scale(
        domain=several("places", [0.0, 5.0]), range=[0, alt.ExprRef("height")], nice=False, zero=False
    )
    across = alt.Scale(
        domain=several("columns", [0.0, 1.0]),
        range=[
            alt.ExprRef(f"{_NARROW} ? 0 : {_LEFT}"),
            alt.ExprRef(f"{_NARROW} ? width : width - {_RIGHT + _GAP}"),
        ],
        nice=False,
        zero=False,
    )

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", scale=across, axis=None)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=down, axis=None)

    # On a telephone a row has its name above its map.
    start = f"datum.place + {_ABOVE} + ({_NARROW} ? 0.2 : 0)"
    high = f"({_NARROW} ? {_HIGH - 0.14} : {_HIGH})"
    rows = alt.Chart(alt.NamedData(ROWS)).transform_calculate(
        middle=f"{start} + {high} / 2",
        name_y=f"{_NARROW} ? datum.place + {_ABOVE} + 0.1 : datum.place + {_ABOVE} + 0.3",
        figure_y=f"{_NARROW} ? datum.place + {_ABOVE} + 0.1 : datum.place + {_ABOVE} + 0.28",
        bar_y=f"datum.place + {_ABOVE} + 0.6",
        narrow_about=f"{_NARROW} ? '' : datum.about",
    )
    wide = alt.ExprRef(f"{_NARROW} ? width : width - {_LEFT + _RIGHT + _GAP}")
    maps = (
        rows.transform_filter("datum.url != ''")
        .mark_image(
            aspect=False,
            smooth=False,
            width=wide,
            height=alt.ExprRef(f"height * {high} / {_PLACES}"),
            x=alt.ExprRef(f"{_NARROW} ? width / 2 : ({_LEFT} + width - {_RIGHT + _GAP}) / 2"),
        )
        .encode(y=y("middle"), url="url:N")
    )
    names = rows.mark_text(
        align="left", x=22, fontSize=16, fontWeight=600, color=ink.text, baseline="middle"
    ).encode(y=y("name_y"), text="name:N")
    marks = rows.mark_point(filled=True, size=150, opacity=1, x=8).encode(
        y=y("name_y"), shape=alt.Shape("shape:N", scale=None), fill=alt.Fill("color:N", scale=None),
        color=alt.Color("color:N", scale=None),
    )  # fmt: skip
    about = rows.mark_text(align="left", x=22, dy=22, fontSize=13, color=ink.soft, baseline="middle").encode(
        y=y("name_y"), text="narrow_about:N"
    )
    figure_color = alt.condition("datum.is_bad", alt.value(ink.lost), alt.value(ink.text))
    figures = rows.mark_text(
        align=alt.ExprRef(f"{_NARROW} ? 'right' : 'left'"),
        x=alt.ExprRef(f"{_NARROW} ? width : width - {_RIGHT}"),
        fontSize=alt.ExprRef(f"{_NARROW} ? 18 : 28"),
        fontWeight=600,
        baseline="middle",
    ).encode(y=y("figure_y"), text="told:N", color=figure_color)
    share = alt.Scale(
        domain=[0, 1],
        range=[alt.ExprRef(f"{_NARROW} ? width : width - {_RIGHT}"), alt.ExprRef("width")],
    )
    beds, bars = (
        rows.transform_filter("datum.url != ''")
        .transform_calculate(none="0", all="1")
        .mark_rule(strokeWidth=alt.ExprRef(f"{_NARROW} ? 0 : 9"), strokeCap="round")
        .encode(x=alt.X("none:Q", scale=share, axis=None), x2=f"{end}:Q", y=y("bar_y"), **color)
        for end, color in (("all", {"color": alt.value(ink.panel)}), ("zeros", {"color": figure_color}))
    )
    channels = alt.Chart(alt.NamedData(CHANNELS)).transform_calculate(
        foot=f"{_ABOVE} - 0.1", head=f"{_ABOVE} - 0.1 - datum.size * {_ABOVE - 0.28}"
    )
    stems = channels.mark_rule().encode(
        x=x("at"),
        y=y("foot"),
        y2="head:Q",
        color=alt.condition("datum.is_outlier", alt.value(ink.gold), alt.value(ink.mid)),
        strokeWidth=alt.condition("datum.is_outlier", alt.value(3), alt.value(1)),
    )
    heads = channels.transform_filter("datum.is_outlier").mark_point(
        filled=True, size=110, opacity=1, color=ink.gold, stroke=ink.text, strokeWidth=1.5, shape="circle"
    ).encode(x=x("at"), y=y("head"))  # fmt: skip
    tiles = alt.Chart(alt.NamedData(TILES)).transform_calculate(
        at=f"{start} + {high} + 0.09", up=f"{start} + {high} + 0.03", middle="(datum.from + datum.to) / 2"
    )
    brackets = [
        tiles.mark_rule(color=ink.soft, strokeWidth=1.5).encode(x=x("from"), x2="to:Q", y=y("at")),
        *(tiles.mark_rule(color=ink.soft, strokeWidth=1.5).encode(x=x(end), y=y("up"), y2="at:Q")
          for end in ("from", "to")),
        tiles.mark_text(align="left", dx=8, fontSize=13, color=ink.soft, baseline="middle").encode(
            x=x("to"), y=y("at"), text="told:N"
        ),
    ]  # fmt: skip
    pointed = (
        alt.Chart(alt.NamedData(REGIONS))
        .transform_calculate(top=f"{start} + datum.down0 * {high}", bottom=f"{start} + datum.down1 * {high}")
        .mark_rect(fillOpacity=0, fill=ink.text)
        .encode(
            x=x("column0"),
            x2="column1:Q",
            y=y("top"),
            y2="bottom:Q",
            tooltip=[
                alt.Tooltip("where:N", title="region"),
                alt.Tooltip("error:Q", title="error", format=".3~p"),
                alt.Tooltip("zeros:Q", title="become zero", format=".3~p"),
            ],
        )
    )
    return (
        alt.layer(
            beds, bars, maps, marks, names, about, figures, stems, heads, *brackets,
            *_heads(ink), *_legend(ink), pointed, height=number("height", 560),
        )
        .add_params(alt.param(name=_PLACES, value=number("high", 5.0)))
        .resolve_scale(x="independent")
        .configure_view(stroke=None)
    )  # fmt: skip


def _heads(ink: Ink) -> list[alt.Chart]:
    """The words at the left and at the right of the picture's top."""
    words = alt.Chart(alt.NamedData(HEAD)).transform_calculate(shown=f"{_NARROW} ? '' : datum.left")
    style = {"fontSize": 13, "color": ink.soft, "baseline": "top", "lineHeight": 17, "lineBreak": "\n"}
    low = alt.ExprRef(f"{_NARROW} ? 0 : height * {_ABOVE - 0.1} / {_PLACES} - 34")
    right = {
        "align": alt.ExprRef(f"{_NARROW} ? 'right' : 'left'"),
        "x": alt.ExprRef(f"{_NARROW} ? width : width - {_RIGHT}"),
    }
    return [
        words.mark_text(**style, x=0, y=low, align="left").encode(text="shown:N"),
        words.mark_text(**style, **right, y=low).encode(text="right:N"),
    ]


def _legend(ink: Ink) -> list[alt.Chart]:
    """The two colors of a map, below the figures."""
    found = []
    for at, (color, word) in enumerate(((ink.mid, "rounded"), (ink.lost, "became 0"))):
        base = alt.Chart(alt.NamedData(HEAD))
        x = f"({_NARROW} ? width - 190 : width - {_RIGHT}) + {95 * at}"
        y = alt.ExprRef("height - 8")
        found += [
            base.mark_square(size=150, opacity=1, color=color, filled=True, x=alt.ExprRef(f"{x} + 6"), y=y),
            base.mark_text(
                align="left", fontSize=13, color=ink.soft, baseline="middle", x=alt.ExprRef(f"{x} + 20"), y=y
            ).encode(text=alt.value(word)),
        ]
    return found
