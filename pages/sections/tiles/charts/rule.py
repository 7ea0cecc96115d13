"""The rule along K: where each operand's scale changes, and whether a summed stretch crosses a change."""

from dataclasses import dataclass
from functools import cached_property

import altair as alt
import numpy as np
from numpy.typing import NDArray

from fp8core.contraction import SummedStretch, stretches, summed_stretches
from fp8core.tiles import Extent
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, by_column, template
from pages.kit.charts.tile_marks import (
    TILES,
    WORDS,
    Row,
    joined,
    picture,
    position,
    scale_domain,
    scale_log2,
    word,
    word_layer,
)
from pages.kit.charts.words import short, span
from pages.sections.tiles.charts.equation import Choice
from pages.sections.tiles.charts.frame import Ends
from pages.sections.tiles.charts.marks import scale_color

WIDTH, HEIGHT = 760, 200
LEFT = 96
TRACKS = {"A": 34, "B": 72, "sum": 124}
TALL = 28
ROOM_FOR_WORDS = 4
LEAVES, VARIES = "leaves", "varies"
SUMMED = "summed"
LEGEND = "✓ both scales are constant on the stretch · ✗ a scale changes inside it"


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


def rule_chart(scene: RuleScene, ink: Ink) -> Filled:
    """K from left to right: A's tiles, B's tiles, and below them the stretches that the tensor core sums."""
    tiles = tile_marks(scene)
    return _tracks(ink).filled(
        {TILES: tiles, SUMMED: by_column(summed_rows(scene)), WORDS: by_column(_words(scene, ink))},
        domain=scale_domain(tiles["log2"]),
    )


@template
def _tracks(ink: Ink) -> alt.LayerChart:
    return picture(WIDTH, HEIGHT, _tiles(ink), _summed(ink), word_layer())


def _boxes(scene: RuleScene, ends: Ends, track: str) -> Row:
    """Corners of the stretches of K from the first of `ends` to the second, in a track."""
    unit, top = (WIDTH - LEFT) / scene.k, TRACKS[track]
    across = {f"x{end}": LEFT + unit * ends[end] for end in (0, 1)}
    return {**across, "y0": across["x0"] * 0 + top, "y1": across["x0"] * 0 + top + TALL}


def tile_marks(scene: RuleScene) -> Row:
    """A mark for each tile that the output element meets."""
    return joined(
        [
            _tile_marks(scene, side, scales, extent)
            for side, scales, extent in (
                ("A", scene.a_scale, scene.choice.a.k),
                ("B", scene.b_scale, scene.choice.b.k),
            )
        ]
    )


def _tile_marks(scene: RuleScene, side: str, scales: NDArray[np.float64], extent: Extent) -> Row:
    parts = stretches(scene.k, extent)
    start = np.array([part.start for part in parts])
    return {
        **_boxes(scene, (start, np.array([part.stop for part in parts])), side),
        "log2": scale_log2(scales[start]),
        "what": [f"{side}: k = {span(part)}" for part in parts],
        "scale": list(map(short, scales[start].tolist())),
    }


def summed_rows(scene: RuleScene) -> list[Row]:
    """One row a stretch that the tensor core sums, with whether the scales leave it."""
    few = len(scene.summed) <= ROOM_FOR_WORDS
    words = {LEAVES: "✓ leaves" if few else "✓", VARIES: "✗ changes" if few else "✗"}
    rows = []
    for part in scene.summed:
        verdict = LEAVES if part.scale_leaves_sum else VARIES
        changing = [
            name for name, constant in (("A", part.a_constant), ("B", part.b_constant)) if not constant
        ]
        why = "the scale of " + " and of ".join(changing) + " changes inside" if changing else "both constant"
        where = {"what": f"k = {span(part.k)}", "why": why}
        ends = part.k.start, part.k.stop
        rows.append({**_boxes(scene, ends, "sum"), "verdict": verdict, "text": words[verdict], **where})
    return rows


def _tiles(ink: Ink) -> alt.Chart:
    return (
        alt.Chart(alt.NamedData(TILES), name=TILES)
        .mark_rect(stroke=ink.page, strokeWidth=0.75, invalid=None)
        .encode(
            **position(WIDTH, HEIGHT),
            color=scale_color(None),
            tooltip=[alt.Tooltip("what:N", title="tile"), alt.Tooltip("scale:N", title="scale")],
        )
    )


def _summed(ink: Ink) -> alt.Chart:
    paint = alt.Scale(domain=[LEAVES, VARIES], range=[ink.scale, ink.lost])
    return (
        alt.Chart(alt.NamedData(SUMMED), name=SUMMED)
        .mark_rect(fillOpacity=0.12, strokeWidth=2)
        .encode(
            **position(WIDTH, HEIGHT),
            fill=alt.Fill("verdict:N", scale=paint, legend=None),
            stroke=alt.Stroke("verdict:N", scale=paint, legend=None),
            tooltip=[alt.Tooltip("what:N", title="summed"), alt.Tooltip("why:N", title="scales")],
        )
    )


def _words(scene: RuleScene, ink: Ink) -> list[Row]:
    """The ends of K, the names of the tracks, and a verdict on each summed stretch."""
    at_sum = TRACKS["sum"] + TALL / 2
    words = [
        word(LEFT, 14, "k = 0", ink.k, fontWeight="bold"),
        word(WIDTH, 14, str(scene.k - 1), ink.k, fontWeight="bold", align="right"),
        word(4, TRACKS["A"] + TALL / 2, "scales of A", ink.text),
        word(4, TRACKS["B"] + TALL / 2, "scales of B", ink.text),
        word(4, at_sum, "summed", ink.text),
        word(LEFT, TRACKS["sum"] + TALL + 22, LEGEND, ink.soft),
    ]
    for row in summed_rows(scene):
        middle = (float(row["x0"]) + float(row["x1"])) / 2
        color = ink.scale if row["verdict"] == LEAVES else ink.lost
        words.append(word(middle, at_sum, str(row["text"]), color, align="center", fontWeight="bold"))
    return words
