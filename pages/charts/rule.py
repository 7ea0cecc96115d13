"""The rule along K: where each operand's scale changes, and whether a summed stretch crosses a change."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from fp8core.contraction import SummedStretch, stretches, summed_stretches
from pages.charts.equation import Choice
from pages.charts.frame import Row
from pages.charts.ink import SCALE_COLORS, Ink
from pages.charts.tile_marks import position, scale_domain, text_layers
from pages.charts.words import log2, short, span

WIDTH, HEIGHT = 760, 200
LEFT = 96
TRACKS = {"A": 34, "B": 72, "sum": 124}
TALL = 28
ROOM_FOR_WORDS = 4
LEAVES, VARIES = "leaves", "varies"


@dataclass(frozen=True, kw_only=True)
class RuleScene:
    """A choice on one output element: the scale that each k's element of A and of B has."""

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


def rule_chart(scene: RuleScene, ink: Ink) -> alt.LayerChart:
    """K from left to right: A's tiles, B's tiles, and below them the stretches that the tensor core sums."""
    return (
        alt.layer(
            _tiles(scene, ink),
            _summed(scene, ink),
            *text_layers(_words(scene, ink)),
            width=WIDTH,
            height=HEIGHT,
        )
        .configure_view(stroke=None)
        .configure_axis(grid=False)
    )


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


def _tiles(scene: RuleScene, ink: Ink) -> alt.Chart:
    rows = tile_rows(scene)
    color = alt.Color(
        "log2:Q",
        legend=None,
        scale=alt.Scale(scheme=SCALE_COLORS, domain=list(scale_domain(rows)), clamp=True),
    )
    return (
        alt.Chart(alt.Data(values=rows), name="tiles")
        .mark_rect(stroke=ink.page, strokeWidth=1 if len(rows) < 300 else 0.3, invalid=None)
        .encode(
            **position(WIDTH, HEIGHT),
            color=color,
            tooltip=[alt.Tooltip("what:N", title="tile"), alt.Tooltip("scale:N", title="scale")],
        )
    )


def _summed(scene: RuleScene, ink: Ink) -> alt.Chart:
    paint = alt.Scale(domain=[LEAVES, VARIES], range=[ink.good, ink.bad])
    return (
        alt.Chart(alt.Data(values=summed_rows(scene)), name="summed")
        .mark_rect(fillOpacity=0.12, strokeWidth=2)
        .encode(
            **position(WIDTH, HEIGHT),
            fill=alt.Fill("verdict:N", scale=paint, legend=None),
            stroke=alt.Stroke("verdict:N", scale=paint, legend=None),
            tooltip=[alt.Tooltip("what:N", title="summed"), alt.Tooltip("why:N", title="scales")],
        )
    )


def _words(scene: RuleScene, ink: Ink) -> list[Row]:
    words: list[Row] = [
        {"x": LEFT, "y": 14, "text": "k = 0", "color": ink.k, "weight": "bold"},
        {"x": WIDTH, "y": 14, "text": str(scene.k - 1), "color": ink.k, "weight": "bold", "align": "right"},
    ]
    for track, text in (("A", "scales of A"), ("B", "scales of B"), ("sum", "summed")):
        words.append({"x": 4, "y": TRACKS[track] + TALL / 2, "text": text, "color": ink.text})
    for row in summed_rows(scene):
        color = ink.good if row["verdict"] == LEAVES else ink.bad
        middle = {"x": (float(row["x0"]) + float(row["x1"])) / 2, "y": TRACKS["sum"] + TALL / 2}
        words.append({**middle, "text": row["text"], "color": color, "align": "center", "weight": "bold"})
    note = "✓ both scales are constant on the stretch · ✗ a scale changes inside it"
    words.append({"x": LEFT, "y": TRACKS["sum"] + TALL + 22, "text": note, "color": ink.soft})
    return words
