"""Error maps below one another, grouped by bits, with the share that becomes zero."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from pages.kit.charts.ink import Ink
from pages.kit.charts.parts import halo, rail
from pages.kit.charts.template import Filled, by_column, number, several, template

ROWS, GROUPS, CHANNELS, TILES = "rows", "groups", "channels", "tiles"
OUTLINES, HEAD, STOPS, APART = "picked", "head", "stops", "apart"
HAND = "hand"  # the parameter with the position of the handle
# Pixels for the names, for the figures, and between a map and its figure.
_LEFT, _RIGHT, _GAP = 165, 200, 36
_NARROW, _DOWN = "width < 640", "rows_high"
# Heights in rows: of the channels' largest numbers, of a group's name, of the legend.
_ABOVE, _GROUP, _UNDER = 1.3, 0.3, 0.22
_ROOM = 32  # columns of a map for the words of a bracket
_WORDY = 75  # pixels of a row with words below its map
_HIGH = 0.76  # the map's share of a row
_FOOT, _RULER = _ABOVE - 0.31, _ABOVE - 0.15


@dataclass(frozen=True, kw_only=True)
class Stops:
    """A handle on outlier `channels`, over `factors`; another one on `every`, their distance."""

    channels: Sequence[int]
    factor: float
    factors: Sequence[int]
    every: int
    distances: Sequence[int]


def map_chart(
    rows: Sequence[dict[str, Any]],
    columns: range,
    largest: Sequence[float],
    outliers: Sequence[bool],
    share_of: str,
    brief: str,
    height: float,
    ink: Ink,
    stops: Stops | None = None,
) -> Filled:
    """A map a recipe over these columns, most bits first; its picture is at `url`, empty in bf16.

    `share_of` explains the figures, `brief` does on a telephone. A row's `picked` outlines columns and shares
    of the map's height. With `stops`, outlier channels have a handle.
    """
    hand = stops.channels if stops else ()
    # Sizes at a factor of 1.
    channels = [
        {"at": at - columns.start + 0.5, "is_outlier": bool(one) or at in hand, "is_pulled": at in hand}
        | {"size": size / stops.factor if at in hand else size}
        for at, size, one in zip(columns, largest, outliers, strict=True)
    ]
    axis = _axis(largest, [one["size"] for one in channels if one["is_pulled"]], stops)
    channels = [axis | one for one in channels]
    rows, groups, height_in_rows = _places(rows)
    tiles = [tile for row in rows for tile in _tiles(row, columns, [one["is_outlier"] for one in channels])]
    outlines = [row.pop("picked") | {"top": row["top"]} for row in rows if "picked" in row]
    data = {
        ROWS: by_column(rows),
        OUTLINES: _columns(outlines, "top", "from", "to", "first", "last"),
        GROUPS: by_column(groups),
        CHANNELS: by_column(channels),
        TILES: _columns(tiles, "top", "from", "to", "words"),
        HEAD: {"left": ["largest number\nof each channel"], "right": [share_of], "brief": [brief]},
    }
    holes = {}
    if stops:
        # The channel in the middle has the handle; the others rise with it.
        place = channels[hand[len(hand) // 2] - columns.start]
        data[STOPS] = by_column([place | {"factor": factor} for factor in stops.factors])
        data[APART] = by_column(
            [
                {"at": one, "words": f"an outlier every {one} channels", "now": one == stops.every}
                for one in stops.distances
            ]
        )
        holes = {"most": stops.factors[-1]}
    return _map(ink, stops is not None).filled(
        data,
        columns=[0, len(columns)],
        down=[0.0, height_in_rows],
        high=height_in_rows,
        height=height,
        **holes,
    )


def _columns(rows: Sequence[dict[str, Any]], *names: str) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in names}


def _axis(largest: Sequence[float], outliers: Sequence[float], stops: Stops | None) -> dict[str, float]:
    sizes = [size for size in largest if size] or [1.0]
    top = max(outliers, default=0.0) * stops.factors[-1] if stops else max(sizes)
    return {"least": float(np.median(sizes)) / 4, "most": max(top, *sizes, np.median(sizes))}


def _places(rows: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]], float]:
    """Rows and names of groups with their tops, and the height of all, in rows."""
    lines, groups, top = [], [], _ABOVE
    for bits in sorted({row["bits"] for row in rows}, reverse=True):
        groups.append({"top": top, "group": f"{bits} bits"})
        top += _GROUP
        for row in rows:
            if row["bits"] == bits:
                letters = (9.6 if one.isupper() or one.isdigit() else 6.6 for one in row["name"])
                lines.append(row | {"top": top, "beside": 34 + sum(letters), "is_bad": row["zeros"] >= 0.01})
                top += 1
    return lines, groups, top + _UNDER


def _tiles(row: dict[str, Any], columns: range, outliers: Sequence[bool]) -> list[dict[str, object]]:
    """A bracket below each tile with an outlier channel; the first one with room at its right has words."""
    wide = row["tile"]
    if wide < 2 or 2 * wide > len(columns):
        return []
    starts = {at // wide * wide for at, is_outlier in zip(columns, outliers, strict=True) if is_outlier}
    whole = sorted(start for start in starts if start >= columns.start and start + wide <= columns.stop)
    ends = [start + wide for start in whole]
    rooms = zip(ends, [*whole[1:], columns.stop][: len(ends)], strict=True)
    with_words = next((end for end, limit in rooms if limit - end >= _ROOM), None)
    return [
        {"top": row["top"], "from": end - wide - columns.start, "to": end - columns.start}
        | {"words": f"a tile of {wide}" * (end == with_words)}
        for end in ends
    ]


# The top and the height of a map, in rows: on a telephone a row has its name above its map.
_TOP = f"datum.top + ({_NARROW} ? 0.2 : 0)"
_TALL = f"({_NARROW} ? {_HIGH - 0.14} : {_HIGH})"


@template
def _map(ink: Ink, has_hand: bool) -> alt.LayerChart:
    parts = (_figures, _maps, _outlines, _groups, _brackets, _heads, _legend)
    layers = [layer for part in parts for layer in part(ink)] + _channels(ink, has_hand)
    params = [alt.param(name=_DOWN, value=number("high", 5.0))]
    if has_hand:
        layers += _stops(ink) + _apart(ink)
        slider = alt.binding_range(min=1, max=number("most", 500), step=1, name="Outliers ")
        params.append(alt.param(name=HAND, value=1, bind=slider))
    return (
        alt.layer(*layers, height=number("height", 560))
        .add_params(*params)
        .resolve_scale(x="independent")
        .configure_view(stroke=None)
    )


def _x(field: str) -> alt.X:
    ends = f"{_NARROW} ? 0 : {_LEFT}", f"{_NARROW} ? width : width - {_RIGHT + _GAP}"
    across = alt.Scale(
        domain=several("columns", [0.0, 1.0]), range=[*map(alt.ExprRef, ends)], nice=False, zero=False
    )
    return alt.X(f"{field}:Q", scale=across, axis=None)


def _y(field: str) -> alt.Y:
    down = alt.Scale(
        domain=several("down", [0.0, 5.0]), range=[0, alt.ExprRef("height")], nice=False, zero=False
    )
    return alt.Y(f"{field}:Q", scale=down, axis=None)


def _rows() -> alt.Chart:
    return (
        alt.Chart(alt.NamedData(ROWS))
        .transform_calculate(
            middle=f"{_TOP} + {_TALL} / 2",
            name_y=f"datum.top + ({_NARROW} ? 0.1 : 0.3)",
            figure_y=f"datum.top + ({_NARROW} ? 0.1 : 0.28)",
            bar_y="datum.top + 0.6",
            wide_about=f"{_NARROW} ? '' : datum.about",
        )
        # Words stand behind a name if they end before the figure.
        .transform_calculate(has_room="datum.beside + 6.2 * length(datum.brief) < width - 70")
        .transform_calculate(narrow_about=f"{_NARROW} && datum.has_room ? datum.brief : ''")
    )


def _maps(ink: Ink) -> list[alt.Chart]:
    rows = _rows()
    left = {"align": "left", "baseline": "middle", "x": 22}
    maps = rows.transform_filter("datum.url != ''").mark_image(
        aspect=False,
        smooth=False,
        cursor="pointer",
        width=alt.ExprRef(f"{_NARROW} ? width : width - {_LEFT + _RIGHT + _GAP}"),
        height=alt.ExprRef(f"height * {_TALL} / {_DOWN}"),
        x=alt.ExprRef(f"{_NARROW} ? width / 2 : ({_LEFT} + width - {_RIGHT + _GAP}) / 2"),
    )
    names = rows.mark_text(**left, fontSize=16, fontWeight=600, color=ink.text)
    about = rows.mark_text(**left, fontSize=13, color=ink.soft, dy=22)
    brief = rows.mark_text(align="left", baseline="middle", fontSize=13, color=ink.soft)
    pixels = alt.X("beside:Q", scale=alt.Scale(domain=[0, 1000], range=[0, 1000]), axis=None)
    color = {"color": alt.Color("color:N", scale=None)}
    marks = rows.mark_point(filled=True, size=150, opacity=1, x=8)
    return [
        maps.encode(y=_y("middle"), url="url:N"),
        marks.encode(y=_y("name_y"), shape=alt.Shape("shape:N", scale=None), **color),
        names.encode(y=_y("name_y"), text="name:N"),
        about.encode(y=_y("name_y"), text="wide_about:N"),
        brief.encode(x=pixels, y=_y("name_y"), text="narrow_about:N"),
    ]


def _groups(ink: Ink) -> list[alt.Chart]:
    groups = alt.Chart(alt.NamedData(GROUPS)).transform_calculate(
        middle=f"datum.top + {_GROUP / 2}", top="datum.top + 0.02"
    )
    name = groups.mark_text(align="left", baseline="middle", x=0, fontSize=14, fontWeight=600, color=ink.soft)
    line = groups.mark_rule(color=ink.hair, x=0, x2=alt.ExprRef("width"))
    return [line.encode(y=_y("top")), name.encode(y=_y("middle"), text="group:N")]


def _figures(ink: Ink) -> list[alt.Chart]:
    rows = _rows()
    color = alt.condition("datum.is_bad", alt.value(ink.lost), alt.value(ink.text))
    start = alt.ExprRef(f"{_NARROW} ? width : width - {_RIGHT}")
    share = alt.Scale(domain=[0, 1], range=[start, alt.ExprRef("width")])
    figures = rows.mark_text(
        align=alt.ExprRef(f"{_NARROW} ? 'right' : 'left'"),
        x=start,
        fontSize=alt.ExprRef(f"{_NARROW} ? 18 : 28"),
        fontWeight=600,
        baseline="middle",
    )
    bars = (
        rows.transform_filter("datum.url != ''")
        .transform_calculate(none="0", all="1")
        .mark_rule(strokeWidth=alt.ExprRef(f"{_NARROW} ? 0 : 9"), strokeCap="round")
        .encode(x=alt.X("none:Q", scale=share, axis=None), y=_y("bar_y"))
    )
    return [
        bars.encode(x2="all:Q", color=alt.value(ink.panel)),
        bars.encode(x2="zeros:Q", color=color),
        figures.encode(y=_y("figure_y"), text="figure:N", color=color),
    ]


def _head(size: str) -> str:
    """Vega expression: the upper end of a channel's stem, on a logarithmic axis."""
    share = f"log(clamp({size}, datum.least, datum.most) / datum.least) / log(datum.most / datum.least)"
    return f"{_FOOT} - {_FOOT - 0.2} * {share}"


def _channels(ink: Ink, has_hand: bool) -> list[alt.Chart]:
    size = f"datum.size * (datum.is_pulled ? {HAND} : 1)" if has_hand else "datum.size"
    channels = alt.Chart(alt.NamedData(CHANNELS)).transform_calculate(foot=str(_FOOT), head=_head(size))
    stems = channels.mark_rule().encode(
        x=_x("at"),
        y=_y("foot"),
        y2="head:Q",
        color=alt.condition("datum.is_outlier", alt.value(ink.gold), alt.value(ink.mid)),
        strokeWidth=alt.condition("datum.is_outlier", alt.value(3), alt.value(1)),
    )
    return [stems]


def _stops(ink: Ink) -> list[alt.Chart]:
    stops = alt.Chart(alt.NamedData(STOPS)).transform_calculate(
        x="datum.at",
        head=_head("datum.size * datum.factor"),
        at="datum.factor",
        words="'× ' + datum.factor",
    )
    now = stops.transform_filter(f"datum.factor == {HAND}")
    words = now.mark_text(align="left", dx=20, fontSize=15, fontWeight=600, color=ink.text)
    return [words.encode(x=_x("x"), y=_y("head"), text="words:N"), rail(stops, _x("x"), _y("head"))]


def _apart(ink: Ink) -> list[alt.Chart]:
    """The distance of two outliers along a ruler, with a handle at its end."""
    stops = alt.Chart(alt.NamedData(APART)).transform_calculate(y=str(_RULER), start="0")
    now = stops.transform_filter("datum.now").transform_calculate(
        said="(width < 900 ? 'every ' : 'an outlier every ') + datum.at + ' channels'"
    )
    words = [
        now.transform_filter(which)
        .mark_text(align=align, baseline="middle", dx=dx, fontSize=13, color=ink.soft, **halo(ink))
        .encode(x=_x("at"), y=_y("y"), text="said:N")
        for which, align, dx in (("datum.at <= 64", "left", 20), ("datum.at > 64", "right", -20))
    ]
    ruler = now.mark_rule(color=ink.mid, strokeWidth=1.75)
    return [ruler.encode(x=_x("start"), x2="at:Q", y=_y("y")), *words, rail(stops, _x("at"), _y("y"), APART)]


def _outlines(ink: Ink) -> list[alt.Chart]:
    outlines = alt.Chart(alt.NamedData(OUTLINES)).transform_calculate(
        up=f"{_TOP} + {_TALL} * datum.first", low=f"{_TOP} + {_TALL} * datum.last"
    )
    mark = outlines.mark_rect(fillOpacity=0, stroke=ink.text, strokeWidth=2)
    return [mark.encode(x=_x("from"), x2="to:Q", y=_y("up"), y2="low:Q")]


def _brackets(ink: Ink) -> list[alt.Chart]:
    tiles = alt.Chart(alt.NamedData(TILES)).transform_calculate(
        at=f"{_TOP} + {_TALL} + 0.09", up=f"{_TOP} + {_TALL} + 0.03"
    )
    rule = tiles.mark_rule(color=ink.soft, strokeWidth=1.5)
    # Between low rows there is no room for words.
    has_words = alt.ExprRef(f"height < {_WORDY} * {_DOWN} ? 0 : 1")
    style = {"align": "left", "dx": 8, "fontSize": 13, "color": ink.soft, "baseline": "middle"}
    words = tiles.mark_text(**style, opacity=has_words)
    return [
        rule.encode(x=_x("from"), x2="to:Q", y=_y("at")),
        *(rule.encode(x=_x(end), y=_y("up"), y2="at:Q") for end in ("from", "to")),
        words.encode(x=_x("to"), y=_y("at"), text="words:N"),
    ]


def _heads(ink: Ink) -> list[alt.Chart]:
    words = alt.Chart(alt.NamedData(HEAD)).transform_calculate(
        left=f"{_NARROW} ? '' : datum.left", right=f"{_NARROW} ? datum.brief : datum.right"
    )
    style = {"fontSize": 13, "color": ink.soft, "baseline": "top", "lineHeight": 17, "lineBreak": "\n"}
    low = alt.ExprRef(f"{_NARROW} ? height * {_ABOVE} / {_DOWN} + 6 : height * {_FOOT + 0.1} / {_DOWN} - 46")
    right = {
        "align": alt.ExprRef(f"{_NARROW} ? 'right' : 'left'"),
        "x": alt.ExprRef(f"{_NARROW} ? width : width - {_RIGHT}"),
    }
    return [
        words.mark_text(**style, x=0, y=low, align="left").encode(text="left:N"),
        words.mark_text(**style, **right, y=low).encode(text="right:N"),
    ]


def _legend(ink: Ink) -> list[alt.Chart]:
    layers = []
    for at, (color, word) in enumerate(((ink.mid, "rounded"), (ink.lost, "became 0"))):
        base = alt.Chart(alt.NamedData(HEAD))
        x = f"({_NARROW} ? width - 190 : width - {_RIGHT}) + {95 * at}"
        y = alt.ExprRef("height - 8")
        layers += [
            base.mark_square(size=150, opacity=1, color=color, filled=True, x=alt.ExprRef(f"{x} + 6"), y=y),
            base.mark_text(
                align="left", fontSize=13, color=ink.soft, baseline="middle", x=alt.ExprRef(f"{x} + 20"), y=y
            ).encode(text=alt.value(word)),
        ]
    return layers
