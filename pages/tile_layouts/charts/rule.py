"""The rule along K: tiles of both operands, summed stretches, and their sums."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import altair as alt
import numpy as np
from numpy.typing import NDArray

from fp8core.contraction import ContractedNumbers, SummedStretch, stretches, summed_stretches
from fp8core.tiles import WHOLE, Extent, TileShape
from pages.kit.charts import tile_marks as marks
from pages.kit.charts.ink import Ink
from pages.kit.charts.parts import tips
from pages.kit.charts.template import Filled, by_column, template
from pages.kit.charts.tile_marks import Row, word
from pages.kit.charts.words import percent_text, short, span
from pages.tile_layouts.charts.scene import arrow

WIDTH, HEIGHT = 1056, 490
ROOM_FOR_WORDS, ROOM_FOR_MARKS = 8, 16
LEAVES, VARIES = "leaves", "varies"
SUMMED, SUMS = "summed", "sums"


@dataclass(frozen=True, kw_only=True)
class RuleScene:
    """Two tile shapes, and the products that the tensor core sums before a rescale.

    Scales are float64[K], for one element of D.
    """

    a: TileShape
    b: TileShape
    sums: Extent
    a_scale: NDArray[np.float64]
    b_scale: NDArray[np.float64]

    @property
    def k(self) -> int:
        return self.a_scale.size

    @cached_property
    def summed(self) -> tuple[SummedStretch, ...]:
        return summed_stretches(self.k, self.sums, self.a.k, self.b.k)

    @property
    def scale_leaves_sum(self) -> bool:
        return all(part.scale_leaves_sum for part in self.summed)


# Places from the top, and the height of a track, in a picture of HEIGHT.
_TRACKS = {"a": 58.0, "b": 134.0, "summed": 210.0, "tall": 44.0, "sums": 290.0, "low": 406.0, "totals": 446.0}


def rule_chart(scene: RuleScene, numbers: ContractedNumbers, ink: Ink, room: float = HEIGHT) -> Filled:
    """K from left to right: A's tiles, B's tiles, the summed stretches, and their sums."""
    height = min(room, HEIGHT)
    at = {track: place * height / HEIGHT for track, place in _TRACKS.items()}
    zero, unit = _level(numbers, at)
    rows = summed_rows(scene, at)
    base = {"x0": 0, "x1": WIDTH, "y0": zero, "y1": zero, "color": ink.line}
    return _tracks(height, ink).filled(
        {
            marks.TILES: marks.joined(
                [
                    _tiles(scene, "A", scene.a_scale, scene.a.k, at["a"], at["tall"]),
                    _tiles(scene, "B", scene.b_scale, scene.b.k, at["b"], at["tall"]),
                ]
            ),
            SUMMED: by_column(rows),
            SUMS: by_column(_sum_rows(rows, numbers, zero, unit)),
            marks.LINES: by_column([*arrow(0, 8, WIDTH, 8, ink.k), base]),
            marks.WORDS: by_column(_words(scene, rows, numbers, at, ink)),
        }
    )


@template
def _tracks(height: float, ink: Ink) -> alt.LayerChart:
    where = marks.position(WIDTH, height)
    data = alt.Chart(alt.NamedData(marks.TILES), name=marks.TILES)
    tiles = marks.heat_map(data, where, ink, strokeWidth=1.25).encode(
        tooltip=tips(("what:N", "tile"), ("scale:N", "scale"))
    )
    paint = alt.Scale(domain=[LEAVES, VARIES], range=[ink.panel, ink.lost_area])
    edge = alt.Scale(domain=[LEAVES, VARIES], range=[ink.dot, ink.lost])
    summed = (
        alt.Chart(alt.NamedData(SUMMED), name=SUMMED)
        .mark_rect(strokeWidth=1.5, cornerRadius=3)
        .encode(
            **where,
            fill=alt.Fill("verdict:N", scale=paint, legend=None),
            stroke=alt.Stroke("verdict:N", scale=edge, legend=None),
            tooltip=tips(("what:N", "summed"), ("why:N", "scales")),
        )
    )
    titles = {"what": "k", "right_text": "right", "pulled_text": "scales pulled out"}
    tooltip = [alt.Tooltip(f"{name}:N", title=title) for name, title in titles.items()]
    right = (
        alt.Chart(alt.NamedData(SUMS), name=SUMS)
        .mark_rect(fill=ink.line, fillOpacity=0.45)
        .encode(**where, tooltip=tooltip)
    )
    pulled = (
        alt.Chart(alt.NamedData(SUMS))
        .mark_rule(strokeWidth=4)
        .encode(
            x="x0:Q",
            x2="x1:Q",
            y="pulled:Q",
            color=alt.Color("verdict:N", scale=edge, legend=None),
            tooltip=tooltip,
        )
    )
    return marks.picture(WIDTH, height, tiles, summed, right, pulled, marks.line_layer(), marks.word_layer())


def _tiles(
    scene: RuleScene, side: str, scales: NDArray[np.float64], extent: Extent, top: float, tall: float
) -> Row:
    parts = stretches(scene.k, extent)
    start, stop = (np.array([getattr(part, end) for part in parts]) for end in ("start", "stop"))
    unit = WIDTH / scene.k
    return {
        "x0": unit * start,
        "x1": unit * stop,
        "y0": np.full(start.shape, top),
        "y1": np.full(start.shape, top + tall),
        "log2": marks.own_colors(scales[start]),
        "what": [f"{side}: k = {span(part)}" for part in parts],
        "scale": list(map(short, scales[start].tolist())),
    }


def summed_rows(scene: RuleScene, at: Mapping[str, float] = _TRACKS) -> list[Row]:
    """A row for each summed stretch: its corners, and whether the scales leave it."""
    unit, top, changes = WIDTH / scene.k, at["summed"], ("constant", "changes")
    return [
        {"x0": unit * part.k.start, "x1": unit * part.k.stop, "y0": top, "y1": top + at["tall"]}
        | {"verdict": LEAVES if part.scale_leaves_sum else VARIES, "what": f"k = {span(part.k)}"}
        | {"why": f"A {changes[not part.a_constant]} and B {changes[not part.b_constant]}"}
        for part in scene.summed
    ]


def _level(numbers: ContractedNumbers, at: Mapping[str, float]) -> tuple[float, float]:
    every = [0.0, *numbers.right_parts, *numbers.pulled_out_parts]
    finite = [value for value in every if np.isfinite(value)]
    low, high = min(finite), max(finite)
    unit = (at["low"] - at["sums"]) / ((high - low) or 1.0)
    return at["sums"] + unit * high, unit


def _sum_rows(rows: Sequence[Row], numbers: ContractedNumbers, zero: float, unit: float) -> list[Row]:
    return [
        {**row, "x0": row["x0"] + inset, "x1": row["x1"] - inset, "y0": zero, "y1": zero - unit * right}
        | {"pulled": zero - unit * pulled, "right_text": short(right), "pulled_text": short(pulled)}
        for row, right, pulled in zip(rows, numbers.right_parts, numbers.pulled_out_parts, strict=True)
        for inset in [min(2.0, (row["x1"] - row["x0"]) / 8)]
    ]


def _words(
    scene: RuleScene, rows: Sequence[Row], numbers: ContractedNumbers, at: Mapping[str, float], ink: Ink
) -> list[Row]:
    bold, above = {"fontWeight": "bold"}, 12
    stretch = "all of K" if scene.sums is WHOLE else f"{scene.sums} products"
    what = "What each adds: right (gray), with the scales of its first k (line)"
    words = [
        word(WIDTH, 25, f"K: {scene.k} products", ink.k, align="right", fontSize=14, **bold),
        word(0, at["a"] - above, "Scales of A", ink.text, fontSize=14),
        word(0, at["b"] - above, "Scales of B", ink.text, fontSize=14),
        word(0, at["summed"] - above, f"The tensor core sums {stretch}", ink.text, fontSize=14),
        word(0, at["sums"] - 18, what, ink.text, narrow="What each adds: right, and pulled out", fontSize=14),
    ]
    if len(rows) <= ROOM_FOR_MARKS:
        for row in rows:
            holds, middle = row["verdict"] == LEAVES, (row["x0"] + row["x1"]) / 2
            mark, verdict = ("✓", "the scales leave") if holds else ("✗", "a scale changes")
            verdict = f"{mark} {verdict}" if len(rows) <= ROOM_FOR_WORDS else mark
            y, color = at["summed"] + at["tall"] / 2, ink.text if holds else ink.lost
            words.append(word(middle, y, verdict, color, narrow=mark, align="center", fontSize=14, **bold))
    for x, align, name, value in (
        (0, "left", "D[0, 0], right", short(numbers.right)),
        (WIDTH / 2, "center", "scales pulled out", short(numbers.pulled_out)),
        (WIDTH, "right", "off by", off_text(numbers)),
    ):
        words.append(word(x, at["totals"], name, ink.soft, align=align, fontSize=13))
        color = ink.lost if name == "off by" and not scene.scale_leaves_sum else ink.text
        words.append(word(x, at["totals"] + 20, value, color, align=align, fontSize=20, **bold))
    return words


def off_text(numbers: ContractedNumbers) -> str:
    """The error of the sum with its scales pulled out, in percent."""
    off = abs(numbers.pulled_out - numbers.right) / abs(numbers.right) if numbers.right else 0.0
    return "nothing" if off < 1e-12 else percent_text(off)
