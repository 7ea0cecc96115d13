"""The rule along K: where each operand's scale changes, and whether a summed stretch crosses a change."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import altair as alt

from fp8core.contraction import SummedStretch, stretches, summed_stretches
from pages.kit.charts.ink import Ink
from pages.kit.charts.words import log2, short, span
from pages.sections.tiles.charts.equation import Choice
from pages.sections.tiles.charts.frame import Row
from pages.sections.tiles.charts.marks import (
    TILES,
    WORDS,
    Spec,
    filled,
    picture,
    position,
    scale_color,
    scale_domain,
    word,
    word_layer,
)

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
    """A choice on one output element: the scale of each k's element of A and of B."""

    choice: Choice
    a_scale: Sequence[float]
    b_scale: Sequence[float]

    @property
    def k(self) -> int:
        return len(self.a_scale)

    @property
    def summed(self) -> tuple[SummedStretch, ...]:
        return summed_stretches(self.k, self.choice.summed, self.choice.a.k, self.choice.b.k)

    @property
    def scale_leaves_sum(self) -> bool:
        return all(part.scale_leaves_sum for part in self.summed)


def rule_chart(scene: RuleScene, ink: Ink) -> Spec:
    """K from left to right: A's tiles, B's tiles, and below them the stretches that the tensor core sums."""
    return filled(
        _tracks(scale_domain(tile_rows(scene)), ink),
        {TILES: tile_rows(scene), SUMMED: summed_rows(scene), WORDS: _words(scene, ink)},
    )


@lru_cache
def _tracks(domain: tuple[int, int], ink: Ink) -> alt.LayerChart:
    return picture(WIDTH, HEIGHT, _tiles(domain, ink), _summed(ink), word_layer())


def _box(scene: RuleScene, k: range, track: str) -> Row:
    unit = (WIDTH - LEFT) / scene.k
    top = TRACKS[track]
    return {"x0": LEFT + unit * k.start, "x1": LEFT + unit * k.stop, "y0": top, "y1": top + TALL}


def tile_rows(scene: RuleScene) -> list[Row]:
    """One row a tile that the output element meets."""
    return [
        {
            **_box(scene, part, side),
            "log2": log2(scales[part.start]),
            "what": f"{side}: k = {span(part)}",
            "scale": short(scales[part.start]),
        }
        for side, scales, extent in (
            ("A", scene.a_scale, scene.choice.a.k),
            ("B", scene.b_scale, scene.choice.b.k),
        )
        for part in stretches(scene.k, extent)
    ]


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
        rows.append({**_box(scene, part.k, "sum"), "verdict": verdict, "text": words[verdict], **where})
    return rows


def _tiles(domain: tuple[int, int], ink: Ink) -> alt.Chart:
    return (
        alt.Chart(alt.NamedData(TILES), name=TILES)
        .mark_rect(stroke=ink.page, strokeWidth=0.75, invalid=None)
        .encode(
            **position(WIDTH, HEIGHT),
            color=scale_color(domain, None),
            tooltip=[alt.Tooltip("what:N", title="tile"), alt.Tooltip("scale:N", title="scale")],
        )
    )


def _summed(ink: Ink) -> alt.Chart:
    paint = alt.Scale(domain=[LEAVES, VARIES], range=[ink.good, ink.bad])
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
        color = ink.good if row["verdict"] == LEAVES else ink.bad
        words.append(word(middle, at_sum, str(row["text"]), color, align="center", fontWeight="bold"))
    return words
