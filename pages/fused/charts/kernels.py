"""Kernels of a step over time, and quantizing kernels beside a copy."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.named_rows import SHAPE, WIDE, Rows, across, dots, names, reference, row_axis
from pages.kit.charts.parts import WORDS, dressed, tips, without_names, words_of
from pages.kit.charts.recipe_marks import mark_of
from pages.kit.charts.template import Filled, by_column, number, several, template, text

# The roles of kernels. Blue quantizes, half blue quantizes beside other work.
ROLES = (
    "multiplies",
    "a pass of the matmul",
    "quantizes",
    "activation",
    "activation that quantizes",
    "other",
)
_AROUND, _MOST, _THICKEST = 48, 104, 46  # pixels around the lanes, of a lane at most, and of the thickest bar
# Pixels: the end of the names; from the right edge, the beginning of figures and of times.
_NAMES, _FIGURES, _TIME = 190, 196, 98
_ROOM = 1.01
KERNELS, TRACKS, TURNS = "kernels", "tracks", "turns"
# The lines of a kernel's tooltip: a field, and its title.
FIELDS = {
    "what": "kernel",
    "role": "role",
    "phase": "pass",
    "time": "time in the profile",
    "traffic": "bytes",
    "rate": "rate",
    "name": "its name",
}


def _colors(ink: Ink) -> dict[str, str]:
    return dict(zip(ROLES, (ink.dot, ink.mid, ink.scale, ink.line, ink.ramp[2], ink.hair), strict=True))


def _color(ink: Ink) -> alt.Color:
    colors = _colors(ink)
    scale = alt.Scale(domain=list(colors), range=list(colors.values()))
    return alt.Color("role:N", title=None, scale=scale, legend=None)


def _tooltip() -> list[alt.Tooltip]:
    return [alt.Tooltip(f"{field}:N", title=title) for field, title in FIELDS.items()]


def legend(roles: Sequence[str], ink: Ink) -> str:
    colors = _colors(ink)
    return swatches({role: f"background:{colors[role]};border-radius:2px" for role in roles}, ink)


def swatches(styles: Mapping[str, str], ink: Ink) -> str:
    swatch = "display:inline-block;width:12px;height:12px;margin-right:6px"
    items = "".join(
        f'<span><i style="{swatch};{style}"></i>{words}</span>' for words, style in styles.items()
    )
    row = f"display:flex;flex-wrap:wrap;gap:2px 20px;font-size:14px;color:{ink.text}"
    return f'<div style="{row}">{items}</div>'


@dataclass(frozen=True, kw_only=True)
class Lane:
    """One way. A kernel has `start`, `end`, `own` (its time without overlap) and FIELDS."""

    name: str
    note: str
    speed: str
    time: str
    share: str
    kernels: tuple[Mapping[str, object], ...]

    @property
    def end(self) -> float:
        return max(kernel["end"] for kernel in self.kernels)

    @property
    def backward(self) -> float | None:
        later = (one["start"] for one in self.kernels if one["phase"] != self.kernels[0]["phase"])
        return next(later, None)

    def figures(self, role: str) -> str:
        times = [kernel["own"] for kernel in self.kernels if kernel["role"] == role]
        noun = "kernel" if len(times) == 1 else "kernels"
        return f"{len(times)} {noun}, {sum(times):,.0f} µs" if times else "none"


def lanes_chart(lanes: Sequence[Lane], room: float, ink: Ink) -> Filled:
    kernels = [
        kernel | {"lane": lane.name, "y": y} for y, lane in enumerate(lanes) for kernel in lane.kernels
    ]
    tracks = [
        {"y": y, "zero": 0.0, "end": lane.end}
        | {field: getattr(lane, field) for field in ("name", "note", "speed", "time", "share")}
        for y, lane in enumerate(lanes)
    ]
    turns = [{"y": y, "at": lane.backward} for y, lane in enumerate(lanes) if lane.backward is not None]
    height = min(room, _AROUND + _MOST * len(lanes))
    bar = min(_THICKEST, 0.52 * (height - _AROUND) / len(lanes))
    return _lanes(ink).filled(
        {KERNELS: by_column(kernels), TRACKS: by_column(tracks), TURNS: by_column(turns)},
        lines=[len(lanes) - 0.45, -0.6],
        across=[0.0, _ROOM * max(lane.end for lane in lanes)],
        height=height,
        bar=bar,
        tick=bar + 8,
        above=-bar / 2 - 13,
    )


@template
def _lanes(ink: Ink) -> alt.LayerChart:
    y = row_axis()
    reach = across(_FIGURES + 14, 12, names=_NAMES)
    times = alt.Scale(domain=several("across", [0.0, 1.0]), range=reach, nice=False)
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
    ground = tracks.mark_bar(size=bar, color=ink.panel).encode(
        x=alt.X("zero:Q", title=None, scale=times, axis=axis), x2="end"
    )
    kernels = alt.Chart(alt.NamedData(KERNELS)).mark_bar(size=bar, stroke=ink.page, strokeWidth=0.5)
    turns = alt.Chart(alt.NamedData(TURNS)).mark_tick(color=ink.text, thickness=2, size=number("tick", 34.0))
    chart = alt.layer(
        ground.add_params(zoom),
        kernels.encode(y=y, x=alt.X("start:Q", scale=times), x2="end", color=_color(ink), tooltip=_tooltip()),
        turns.encode(y=y, x=alt.X("at:Q", scale=times)),
        alt.Chart(alt.NamedData(TURNS))
        .transform_filter("datum.y === 0")
        .mark_text(
            align="left", dx=3, dy=number("above", -24.0), fontSize=13, color=ink.soft, text="backward →"
        )
        .encode(y=y, x=alt.X("at:Q", scale=times)),
        *_words(tracks, ink),
    )
    return dressed(chart.properties(height=number("height", 400)), ink)


def _words(tracks: alt.Chart, ink: Ink) -> list[alt.Chart]:
    wide, narrow = alt.ExprRef(f"{WIDE} ? 1 : 0"), alt.ExprRef(f"{WIDE} ? 0 : 1")
    above = number("above", -24.0)

    def words(field: str, at: str, **style: object) -> alt.Chart:
        mark = {"align": "left", "baseline": "middle", "fontSize": 14, "color": ink.text, **style}
        return tracks.mark_text(**mark).encode(x=alt.value(alt.ExprRef(at)), text=f"{field}:N")

    bold, soft = {"fontWeight": "bold"}, {"color": ink.soft, "fontSize": 13}
    return [
        words("name", "0", **bold, dy=-9, opacity=wide),
        words("note", "0", **soft, dy=9, opacity=wide),
        words("speed", f"width - ({WIDE} ? {_FIGURES} : 0)", **bold, fontSize=22, opacity=wide),
        words("time", f"width - ({WIDE} ? {_TIME} : 0)", dy=-9, opacity=wide),
        words("share", f"width - ({WIDE} ? {_TIME} : 0)", **soft, dy=9, opacity=wide),
        words("name", "4", **bold, dy=above, opacity=narrow),
        words("speed", "width - 84", **bold, align="right", dy=above, opacity=narrow),
        words("time", "width - 4", align="right", dy=above, opacity=narrow),
    ]


# The parameter of the switch. All ways are in the chart, and the browser switches.
WAY = "way"
SUMS, ENDS = "sums", "ends"
LETTERS = 18  # pixels that the words above a bar add to the height of its line
_SWITCH_BAR, _SWITCH_AROUND, _LINE = 24, 64, 32 + LETTERS


def switch_chart(lanes: Sequence[Lane], keys: tuple[str, ...], roles: tuple[str, ...], ink: Ink) -> Filled:
    """One way's kernels, a line a role, over those of the way before. `keys`: the switch's values."""
    ways = list(zip(keys, (*keys[1:], ""), lanes, strict=True))
    ends = {key: lane.end for key, _, lane in ways}
    longest = {key: _ROOM * max(ends[key], ends[keys[max(place - 1, 0)]]) for place, key in enumerate(keys)}
    return _switch(keys, tuple(lane.name for lane in lanes), roles, ink).filled(
        {
            KERNELS: by_column(
                [one | {"lane": key, "next": after} for key, after, lane in ways for one in lane.kernels]
            ),
            SUMS: by_column(
                [
                    {"lane": key, "role": role, WORDS: words_of(role, lane.figures(role))}
                    for key, _, lane in ways
                    for role in roles
                ]
            ),
            ENDS: by_column([{"lane": key, "next": after, "end": lane.end} for key, after, lane in ways]),
        },
        longest=f"({json.dumps(longest)})[{WAY}]",
        height=_LINE * len(roles) + _SWITCH_AROUND,
    )


@template
def _switch(
    keys: tuple[str, ...], titles: tuple[str, ...], roles: tuple[str, ...], ink: Ink
) -> alt.LayerChart:
    way = alt.param(
        name=WAY, value=keys[-1], bind=alt.binding_radio(options=list(keys), labels=list(titles), name="Way ")
    )
    y = alt.Y("role:N", title=None, scale=alt.Scale(domain=list(roles)), axis=without_names())
    times = alt.Scale(domainMin=0, domainMax=alt.ExprRef(text("longest", "({})[way]")), nice=False)
    x = alt.X(
        "start:Q",
        title="µs since the step's first kernel",
        scale=times,
        axis=alt.Axis(tickCount=6, format=",~f", grid=False),
    )
    kernels = alt.Chart(alt.NamedData(KERNELS)).encode(y=y, x=x, x2="end", color=_color(ink))
    ends = alt.Chart(alt.NamedData(ENDS)).encode(x=alt.X("end:Q", scale=times))
    is_now, is_before = f"datum.lane === {WAY}", f"datum.next === {WAY}"
    sums = alt.Chart(alt.NamedData(SUMS)).transform_filter(is_now).encode(y=y)
    above = -_SWITCH_BAR / 2 - 9
    words = sums.mark_text(align="left", baseline="middle", dy=above, fontSize=13, color=ink.text, clip=False)
    chart = alt.layer(
        kernels.transform_filter(is_before).mark_bar(size=_SWITCH_BAR, opacity=0.3),
        kernels.transform_filter(is_now).mark_bar(size=_SWITCH_BAR - 8).encode(tooltip=_tooltip()),
        ends.transform_filter(is_before).mark_rule(color=ink.soft, strokeWidth=1.5, strokeDash=[4, 3]),
        ends.transform_filter(is_now).mark_rule(color=ink.text, strokeWidth=2),
        words.encode(x=alt.value(0), text=f"{WORDS}:N"),
    )
    return dressed(chart.add_params(way).properties(height=number("height", 300)), ink)


OURS, COMPILED = "this project", "torch.compile"
BARS, POINTS = "bars", "points"
Row = Mapping[str, object]


def ratio_chart(ours: Sequence[Row], peers: Sequence[Row], room: float, ink: Ink) -> Filled:
    """Kernels beside a copy: fields y, name, recipe, who, ratio (speed over a copy's), time, rate, note."""
    most = max([1.0, *(one["ratio"] for one in (*ours, *peers))])
    return _ratios(ink).filled(
        {name: by_column(list(map(_marked, every))) for name, every in ((BARS, ours), (POINTS, peers))},
        ratios=[0.0, 1.02 * most],
        **Rows(len(ours), room, around=88, most=60).holes(),
    )


def _marked(one: Row) -> Row:
    mark = mark_of(one["recipe"])
    return {**one, "zero": 0.0, "color": mark.color, "shape": mark.shape}


@template
def _ratios(ink: Ink) -> alt.LayerChart:
    y = row_axis()
    x = alt.X(
        "ratio:Q",
        title="times the speed of a copy (hollow: torch.compile)",
        scale=alt.Scale(domain=several("ratios", [0.0, 1.0]), range=across(64, 44, names=280), nice=False),
        axis=alt.Axis(
            tickCount=6,
            format=".1f",
            domain=False,
            ticks=False,
            labelExpr="datum.value === 1 ? 'a copy = 1' : datum.label",
        ),
    )
    tooltip = tips(
        ("name:N", "quantizes"),
        ("who:N", "by"),
        ("ratio:Q", "of a copy's speed", ".3f"),
        ("time:N", "time"),
        ("rate:N", "least bytes over time"),
        ("note:N", "also"),
    )
    bars, points = alt.Chart(alt.NamedData(BARS)), alt.Chart(alt.NamedData(POINTS))
    hollow = points.mark_point(filled=True, size=80, opacity=1, fill=ink.page, strokeWidth=2)
    stem, point = dots(bars, x, y, tooltip, low="zero", high="ratio", size=95)
    chart = alt.layer(
        reference(1, x, ink),
        stem.encode(opacity=alt.value(0.5)),
        hollow.encode(x=x, y=y, shape=SHAPE, stroke=alt.Stroke("color:N", scale=None), tooltip=tooltip),
        point.encode(opacity=alt.value(1)),
        bars.mark_text(
            align="right", baseline="middle", fontSize=15, fontWeight="bold", color=ink.text
        ).encode(x=alt.value(alt.ExprRef("width")), y=y, text=alt.Text("ratio:Q", format=".2f")),
        *names(bars, y, ink),
    )
    return dressed(chart.properties(height=number("height", 400)), ink)
