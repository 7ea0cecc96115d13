"""The rule along K: where each scale changes, what the tensor core sums, and the sums that come out."""

from dataclasses import dataclass
from functools import cached_property

import altair as alt
import numpy as np
from numpy.typing import NDArray

from fp8core.contraction import ContractedNumbers, SummedStretch, stretches, summed_stretches
from fp8core.tiles import Extent
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, by_column, template
from pages.kit.charts.tile_marks import (
    LINES,
    TILES,
    WORDS,
    Row,
    joined,
    line_layer,
    own_colors,
    picture,
    position,
    word,
    word_layer,
)
from pages.kit.charts.words import percent_text, short, span
from pages.tile_layouts.charts.equation import Choice
from pages.tile_layouts.charts.frame import Ends
from pages.tile_layouts.charts.marks import arrow, scale_color

WIDTH, HEIGHT, FLAT = 1056, 490, 450
ROOM_FOR_WORDS, ROOM_FOR_MARKS = 8, 16
LEAVES, VARIES = "leaves", "varies"
SUMMED, SUMS = "summed", "sums"


@dataclass(frozen=True, kw_only=True)
class RuleScene:
    """A choice on one output element: the scale of each k's element of A and of B, float64[K]."""

    choice: Choice
    a_scale: NDArray[np.float64]
    b_scale: NDArray[np.float64]

    @property
    def k(self) -> int:
        return self.a_scale.size

    @cached_property
    def summed(self) -> tuple[SummedStretch, ...]:
        return summed_stretches(self.k, self.choice.summed, self.choice.a.k, self.choice.b.k)

    @property
    def scale_leaves_sum(self) -> bool:
        return all(part.scale_leaves_sum for part in self.summed)


@dataclass(frozen=True, kw_only=True)
class _Tracks:
    """Where each part begins, and how tall it is."""

    a: float
    b: float
    summed: float
    tall: float
    sums: tuple[float, float]
    totals: float


_TALL = _Tracks(a=58, b=134, summed=210, tall=44, sums=(290, 406), totals=446)
_FLAT = _Tracks(a=44, b=98, summed=152, tall=30, sums=(212, 300), totals=332)


def rule_chart(scene: RuleScene, numbers: ContractedNumbers, ink: Ink, room: float = HEIGHT) -> Filled:
    """K from left to right: A's tiles, B's tiles, the stretches that the tensor core sums, what each adds."""
    at = _FLAT if room < FLAT else _TALL
    tiles = tile_marks(scene, at)
    return _tracks(min(room, HEIGHT), ink).filled(
        {
            TILES: tiles,
            SUMMED: by_column(summed_rows(scene, at)),
            SUMS: by_column(_sum_rows(scene, numbers, at)),
            LINES: by_column(_lines(scene, numbers, at, ink)),
            WORDS: by_column(_words(scene, numbers, at, ink)),
        }
    )


@template
def _tracks(height: float, ink: Ink) -> alt.LayerChart:
    where = position(WIDTH, height)
    tiles = (
        alt.Chart(alt.NamedData(TILES), name=TILES)
        .mark_rect(stroke=ink.page, strokeWidth=1.25, invalid=None)
        .encode(
            **where,
            color=scale_color(),
            tooltip=[alt.Tooltip("what:N", title="tile"), alt.Tooltip("scale:N", title="scale")],
        )
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
            tooltip=[alt.Tooltip("what:N", title="summed"), alt.Tooltip("why:N", title="scales")],
        )
    )
    right = (
        alt.Chart(alt.NamedData(SUMS), name=SUMS)
        .mark_rect(fill=ink.line, fillOpacity=0.45)
        .encode(**where, tooltip=_sum_tooltip())
    )
    color = alt.Scale(domain=[LEAVES, VARIES], range=[ink.dot, ink.lost])
    pulled = (
        alt.Chart(alt.NamedData(SUMS))
        .mark_rule(strokeWidth=4)
        .encode(
            x="x0:Q",
            x2="x1:Q",
            y="pulled:Q",
            color=alt.Color("verdict:N", scale=color, legend=None),
            tooltip=_sum_tooltip(),
        )
    )
    return picture(WIDTH, height, tiles, summed, right, pulled, line_layer(), word_layer())


def _sum_tooltip() -> list[alt.Tooltip]:
    titles = {"what": "k", "right_text": "right", "pulled_text": "scales pulled out"}
    return [alt.Tooltip(f"{name}:N", title=title) for name, title in titles.items()]


def _boxes(scene: RuleScene, ends: Ends, top: float, tall: float) -> Row:
    """Corners of the stretches of K from the first of `ends` to the second, in a track."""
    unit = WIDTH / scene.k
    across = {f"x{end}": unit * ends[end] for end in (0, 1)}
    return {**across, "y0": across["x0"] * 0 + top, "y1": across["x0"] * 0 + top + tall}


def tile_marks(scene: RuleScene, at: _Tracks = _TALL) -> Row:
    """A mark for each tile that the output element meets."""
    return joined(
        [
            _tile_marks(scene, side, scales, extent, top, at.tall)
            for side, scales, extent, top in (
                ("A", scene.a_scale, scene.choice.a.k, at.a),
                ("B", scene.b_scale, scene.choice.b.k, at.b),
            )
        ]
    )


def _tile_marks(
    scene: RuleScene, side: str, scales: NDArray[np.float64], extent: Extent, top: float, tall: float
) -> Row:
    parts = stretches(scene.k, extent)
    start = np.array([part.start for part in parts])
    return {
        **_boxes(scene, (start, np.array([part.stop for part in parts])), top, tall),
        "shade": own_colors(scales[start]),
        "what": [f"{side}: k = {span(part)}" for part in parts],
        "scale": list(map(short, scales[start].tolist())),
    }


def summed_rows(scene: RuleScene, at: _Tracks = _TALL) -> list[Row]:
    """One row a stretch that the tensor core sums, with whether the scales leave it."""
    rows = []
    for part in scene.summed:
        verdict = LEAVES if part.scale_leaves_sum else VARIES
        changing = [
            name for name, constant in (("A", part.a_constant), ("B", part.b_constant)) if not constant
        ]
        why = "the scale of " + " and of ".join(changing) + " changes inside" if changing else "both constant"
        ends = part.k.start, part.k.stop
        rows.append(
            {
                **_boxes(scene, ends, at.summed, at.tall),
                "verdict": verdict,
                "what": f"k = {span(part.k)}",
                "why": why,
            }
        )
    return rows


def _level(numbers: ContractedNumbers, at: _Tracks) -> tuple[float, float]:
    """The height of zero, and the pixels of a unit: both sums of every stretch fit in."""
    every = [0.0, *numbers.right_parts, *numbers.pulled_out_parts]
    finite = [value for value in every if np.isfinite(value)]
    low, high = min(finite), max(finite)
    unit = (at.sums[1] - at.sums[0]) / ((high - low) or 1.0)
    return at.sums[0] + unit * high, unit


def _sum_rows(scene: RuleScene, numbers: ContractedNumbers, at: _Tracks) -> list[Row]:
    """What each stretch adds to D[0, 0], and what it adds with the scales pulled out all the same."""
    zero, unit = _level(numbers, at)
    rows = []
    for row, right, pulled in zip(
        summed_rows(scene, at), numbers.right_parts, numbers.pulled_out_parts, strict=True
    ):
        heights = {"y0": zero, "y1": zero - unit * right, "pulled": zero - unit * pulled}
        texts = {"right_text": short(right), "pulled_text": short(pulled)}
        inset = min(2.0, (row["x1"] - row["x0"]) / 8)
        across = {"x0": row["x0"] + inset, "x1": row["x1"] - inset}
        rows.append({**across, **heights, **texts, "what": row["what"], "verdict": row["verdict"]})
    return rows


def _lines(scene: RuleScene, numbers: ContractedNumbers, at: _Tracks, ink: Ink) -> list[Row]:
    zero, _ = _level(numbers, at)
    base = {"x0": 0, "x1": WIDTH, "y0": zero, "y1": zero, "color": ink.line}
    return [*arrow(0, 8, WIDTH, 8, ink.k), base]


def _words(scene: RuleScene, numbers: ContractedNumbers, at: _Tracks, ink: Ink) -> list[Row]:
    """The names of the tracks, a verdict on each summed stretch, and the two totals."""
    bold, above = {"fontWeight": "bold"}, 12
    stretch = "all of K" if scene.choice.summed is None else f"{scene.choice.summed} products"
    what = "What each adds: right (gray), with the scales of its first k (line)"
    words = [
        word(WIDTH, 25, f"K: {scene.k} products", ink.k, align="right", fontSize=14, **bold),
        word(0, at.a - above, "Scales of A", ink.text, fontSize=14),
        word(0, at.b - above, "Scales of B", ink.text, fontSize=14),
        word(0, at.summed - above, f"The tensor core sums {stretch}", ink.text, fontSize=14),
        word(0, at.sums[0] - 18, what, ink.text, narrow="What each adds: right, and pulled out", fontSize=14),
    ]
    if len(scene.summed) <= ROOM_FOR_MARKS:
        few = len(scene.summed) <= ROOM_FOR_WORDS
        for row in summed_rows(scene, at):
            holds, middle = row["verdict"] == LEAVES, (row["x0"] + row["x1"]) / 2
            mark, said = ("✓", "the scales leave") if holds else ("✗", "a scale changes")
            told = f"{mark} {said}" if few else mark
            color = ink.text if holds else ink.lost
            y = at.summed + at.tall / 2
            words.append(word(middle, y, told, color, narrow=mark, align="center", fontSize=14, **bold))
    for x, align, name, value in (
        (0, "left", "D[0, 0], right", short(numbers.right)),
        (WIDTH / 2, "center", "scales pulled out", short(numbers.pulled_out)),
        (WIDTH, "right", "off by", off_text(numbers)),
    ):
        words.append(word(x, at.totals, name, ink.soft, align=align, fontSize=13))
        color = ink.lost if name == "off by" and not scene.scale_leaves_sum else ink.text
        words.append(word(x, at.totals + 20, value, color, align=align, fontSize=20, **bold))
    return words


def off_text(numbers: ContractedNumbers) -> str:
    """How far the sum with its scales pulled out is from the right one."""
    off = abs(numbers.pulled_out - numbers.right) / abs(numbers.right) if numbers.right else 0.0
    return "nothing" if off < 1e-12 else percent_text(off)
