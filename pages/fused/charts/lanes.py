"""The timelines of all ways below one another, to one scale: a bar a kernel."""

from collections.abc import Sequence

import altair as alt

from pages.fused.charts.facts import FIELDS, TITLES, Lane, Paint, color_scale
from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, number, several, template

_AROUND, _MOST = 48, 104
"""Pixels around the lanes, and of a lane at most."""
_THICKEST = 46
_WIDE = "width >= 600"
_NAMES, _FIGURES, _TIME = 190, 196, 98
"""Pixels: the lanes begin at the names' end; from the right edge, where the figures and the times begin."""
_ROOM = 1.01
KERNELS, TRACKS, TURNS = "kernels", "tracks", "turns"


def columns_of(lanes: Sequence[Lane]) -> dict[str, list[object]]:
    """The kernels of all lanes as columns."""
    found: dict[str, list[object]] = {field: [] for field in ("lane", "y", "start", "end", *FIELDS)}
    for place, lane in enumerate(lanes):
        for bar in lane.bars:
            found["lane"].append(lane.name)
            found["y"].append(place)
            found["start"].append(bar.start_us)
            found["end"].append(bar.end_us)
            for field in FIELDS:
                found[field].append(getattr(bar, field))
    return found


def lanes_chart(lanes: Sequence[Lane], roles: tuple[Paint, ...], room: float, ink: Ink) -> Filled:
    """A lane a way, at most `room` pixels high; the roles are all that there are."""
    tracks = {
        "y": list(range(len(lanes))),
        "zero": [0.0] * len(lanes),
        "end": [lane.end_us for lane in lanes],
        **{
            field: [getattr(lane, field) for lane in lanes]
            for field in ("name", "told", "speed", "time", "share")
        },
    }
    turned = [(place, lane) for place, lane in enumerate(lanes) if lane.turn_us is not None]
    turns = {"y": [place for place, _ in turned], "at": [lane.turn_us for _, lane in turned]}
    height = min(room, _AROUND + _MOST * len(lanes))
    step = (height - _AROUND) / len(lanes)
    bar = min(_THICKEST, 0.52 * step)
    return _chart(roles, ink).filled(
        {KERNELS: columns_of(lanes), TRACKS: tracks, TURNS: turns},
        lines=[len(lanes) - 0.45, -0.6],
        across=[0.0, _ROOM * max(lane.end_us for lane in lanes)],
        height=height,
        bar=bar,
        tick=bar + 8,
        above=-bar / 2 - 13,
    )


@template
def _chart(roles: tuple[Paint, ...], ink: Ink) -> alt.LayerChart:
    y = alt.Y("y:Q", scale=alt.Scale(domain=several("lines", [5.0, -0.5]), nice=False, zero=False), axis=None)
    reach = [
        alt.ExprRef(f"{_WIDE} ? {_NAMES} : 4"),
        alt.ExprRef(f"width - ({_WIDE} ? {_FIGURES + 14} : 12)"),
    ]
    across = alt.Scale(domain=several("across", [0.0, 1.0]), range=reach, nice=False)
    axis = alt.Axis(
        tickCount=5,
        labelExpr="datum.value ? format(datum.value / 1000, '~f') + (datum.index ? ' ms' : '') : '0 ms'",
        domain=False,
        ticks=False,
    )
    tracks = alt.Chart(alt.NamedData(TRACKS)).encode(y=y)
    bar = number("bar", 26.0)
    # With Shift only: the wheel alone scrolls the page.
    zoom = alt.selection_interval(bind="scales", encodings=["x"], zoom="wheel![event.shiftKey]")
    ground = (
        tracks.mark_bar(size=bar, color=ink.panel)
        .encode(x=alt.X("zero:Q", title=None, scale=across, axis=axis), x2="end")
        .add_params(zoom)
    )
    drawn = (
        alt.Chart(alt.NamedData(KERNELS))
        .mark_bar(size=bar, stroke=ink.page, strokeWidth=0.5)
        .encode(
            y=y,
            x=alt.X("start:Q", scale=across),
            x2="end",
            color=alt.Color("role:N", title=None, scale=color_scale(roles, ink), legend=None),
            tooltip=[
                alt.Tooltip(f"{field}:N", title=title) for field, title in zip(FIELDS, TITLES, strict=True)
            ],
        )
    )
    turn = (
        alt.Chart(alt.NamedData(TURNS))
        .mark_tick(color=ink.text, thickness=2, size=number("tick", 34.0))
        .encode(y=y, x=alt.X("at:Q", scale=across))
    )
    chart = alt.layer(ground, drawn, turn, *_words(tracks, ink)).properties(height=number("height", 400))
    return dressed(chart, ink)


def _words(tracks: alt.Chart, ink: Ink) -> list[alt.Chart]:
    """Names and figures at the sides of a wide page, and above the lanes of a narrow one."""
    wide, narrow = alt.ExprRef(f"{_WIDE} ? 1 : 0"), alt.ExprRef(f"{_WIDE} ? 0 : 1")
    above = number("above", -24.0)

    def words(field: str, at: str, **style: object) -> alt.Chart:
        mark = {"align": "left", "baseline": "middle", "fontSize": 14, "color": ink.text, **style}
        return tracks.mark_text(**mark).encode(x=alt.value(alt.ExprRef(at)), text=f"{field}:N")

    bold, soft = {"fontWeight": "bold"}, {"color": ink.soft, "fontSize": 13}
    return [
        words("name", "0", **bold, dy=-9, opacity=wide),
        words("told", "0", **soft, dy=9, opacity=wide),
        words("speed", f"width - ({_WIDE} ? {_FIGURES} : 0)", **bold, fontSize=22, opacity=wide),
        words("time", f"width - ({_WIDE} ? {_TIME} : 0)", dy=-9, opacity=wide),
        words("share", f"width - ({_WIDE} ? {_TIME} : 0)", **soft, dy=9, opacity=wide),
        words("name", "4", **bold, dy=above, opacity=narrow),
        words("speed", "width - 84", **bold, align="right", dy=above, opacity=narrow),
        words("time", "width - 4", align="right", dy=above, opacity=narrow),
    ]
