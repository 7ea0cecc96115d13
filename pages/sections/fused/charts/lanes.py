"""The timelines of all ways below one another, to one scale: a bar a kernel."""

from collections.abc import Sequence

import altair as alt

from pages.kit.charts.above import LETTERS, WORDS, without_names, words_above, words_of
from pages.kit.charts.finish import dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, number, several, template
from pages.sections.fused.charts.facts import FIELDS, TITLES, Lane, Paint, color_scale, roles_legend

LANE = 34 + LETTERS
_BAR, _AROUND = 26, 150
_ROOM = 1.01
KERNELS, TRACKS, TURNS = "kernels", "tracks", "turns"


def columns_of(lanes: Sequence[Lane]) -> dict[str, list[object]]:
    """The kernels of all lanes as columns."""
    found: dict[str, list[object]] = {field: [] for field in ("lane", "start", "end", *FIELDS)}
    for lane in lanes:
        for bar in lane.bars:
            found["lane"].append(lane.name)
            found["start"].append(bar.start_us)
            found["end"].append(bar.end_us)
            for field in FIELDS:
                found[field].append(getattr(bar, field))
    return found


def lanes_chart(lanes: Sequence[Lane], roles: tuple[Paint, ...], ink: Ink) -> Filled:
    """A lane a way; the legend names the roles that some kernel has."""
    tracks = {
        "lane": [lane.name for lane in lanes],
        "zero": [0.0] * len(lanes),
        "end": [lane.end_us for lane in lanes],
        WORDS: [words_of(lane.name, lane.label) for lane in lanes],
    }
    used = {bar.role for lane in lanes for bar in lane.bars}
    turned = [lane for lane in lanes if lane.turn_us is not None]
    turns = {"lane": [lane.name for lane in turned], "at": [lane.turn_us for lane in turned]}
    return _chart(roles, ink).filled(
        {KERNELS: columns_of(lanes), TRACKS: tracks, TURNS: turns},
        lanes=[lane.name for lane in lanes],
        roles=[role.name for role in roles if role.name in used],
        across=[0.0, _ROOM * max(lane.end_us for lane in lanes)],
        height=LANE * len(lanes) + _AROUND,
    )


@template
def _chart(roles: tuple[Paint, ...], ink: Ink) -> alt.LayerChart:
    y = alt.Y(
        "lane:N",
        title=None,
        scale=alt.Scale(domain=several("lanes", ["compiled"])),
        axis=without_names(),
    )
    across = alt.Scale(domain=several("across", [0.0, 1.0]), nice=False)
    axis = alt.Axis(tickCount=6, format=",~f")
    tracks = alt.Chart(alt.NamedData(TRACKS)).encode(y=y)
    # With Shift only: the wheel alone scrolls the page.
    zoom = alt.selection_interval(bind="scales", encodings=["x"], zoom="wheel![event.shiftKey]")
    ground = (
        tracks.mark_bar(size=_BAR, color=ink.panel)
        .encode(
            x=alt.X("zero:Q", title="µs since the step's first kernel", scale=across, axis=axis), x2="end"
        )
        .add_params(zoom)
    )
    drawn = (
        alt.Chart(alt.NamedData(KERNELS))
        .mark_bar(size=_BAR)
        .encode(
            y=y,
            x=alt.X("start:Q", scale=across),
            x2="end",
            color=alt.Color(
                "role:N",
                title=None,
                scale=color_scale(roles, ink),
                legend=roles_legend(roles, ink),
            ),
            tooltip=[
                alt.Tooltip(f"{field}:N", title=title) for field, title in zip(FIELDS, TITLES, strict=True)
            ],
        )
    )
    turn = (
        alt.Chart(alt.NamedData(TURNS))
        .mark_tick(color=ink.text, thickness=2, size=_BAR + 8)
        .encode(y=y, x=alt.X("at:Q", scale=across))
    )
    said = words_above(tracks, _BAR, ink)
    return dressed(alt.layer(ground, drawn, turn, said).properties(height=number("height", 400)), ink)
