"""A block's amax under four scale rules: a histogram a rule over amax / scale, and one block to move.

The selection `block` holds amax of that block; a slider in the browser sets it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from pages.kit.charts.ink import Ink
from pages.sections.scaling.charts.stack import Spec, panel, stack

BLOCK = "block"
AMAX = "amax"
TALL, LABEL = 74, 11
ROOM = 1.6
Row = dict[str, object]


@dataclass(frozen=True, kw_only=True)
class RuleRow:
    """One rule.

    `bins`: amax / scale from `x0` to `x1`, its share of the blocks, and whether it is beyond Qmax. `moves`:
    for each amax of the slider the `scale`, its `exponent` text and where amax `lands`.
    """

    title: str
    bins: Sequence[Row]
    moves: Sequence[Row]


@dataclass(frozen=True, kw_only=True)
class RulesScene:
    """All rules for one element format with the largest value `largest`; `domain` of amax / scale."""

    rows: Sequence[RuleRow]
    largest: float
    largest_text: str
    format_name: str
    domain: tuple[float, float]
    slider: tuple[float, float, float]
    start: float


def rules_chart(scene: RulesScene, ink: Ink) -> Spec:
    """A histogram a rule, one below the other, on one axis."""
    rows = [
        _row(scene, row, ink, last=row is scene.rows[-1], first=row is scene.rows[0]) for row in scene.rows
    ]
    values = {f"bins {row.title}": row.bins for row in scene.rows}
    values |= {f"moves {row.title}": row.moves for row in scene.rows}
    return stack(rows, ink, values, spacing=10)


def _row(scene: RulesScene, row: RuleRow, ink: Ink, *, first: bool, last: bool) -> Spec:
    scale = alt.Scale(type="log", base=2, domain=list(scene.domain), nice=False)
    axis = alt.Axis(
        values=_ticks(scene),
        format="~g",
        title="amax / scale",
    )
    x = alt.X("x0:Q", scale=scale, axis=axis if last else alt.Axis(labels=False, ticks=False, title=None))
    top = max((b["share"] for b in row.bins), default=1.0) * ROOM
    y = alt.Y("share:Q", scale=alt.Scale(domain=[0, top], nice=False), axis=None)
    color = alt.when("datum.beyond").then(alt.value(ink.bad)).otherwise(alt.value(ink.good))
    beyond = alt.Chart(alt.Data(values=[{"x0": scene.largest, "x1": scene.domain[1]}]))
    tint = beyond.mark_rect(color=ink.bad, opacity=0.15, aria=False).encode(x=x, x2=alt.X2("x1:Q"))
    edge = beyond.mark_rule(color=ink.bad, strokeWidth=1.5, aria=False).encode(x=x)
    words = (
        alt.Chart(alt.Data(values=[{"x0": scene.largest}] if first else []))
        .mark_text(text="saturates", color=ink.bad, fontSize=12, fontWeight="bold", align="left", dx=6)
        .encode(x=x, y=alt.YValue(TALL - 12))
    )
    bars = (
        alt.Chart(alt.NamedData(f"bins {row.title}"))
        .mark_rect(stroke=ink.page, strokeWidth=0.5)
        .encode(
            x=x, x2=alt.X2("x1:Q"), y=y, y2=alt.Y2Datum(0), color=color,
            tooltip=[
                alt.Tooltip("x0:Q", title="amax / scale from", format=".4~g"),
                alt.Tooltip("x1:Q", title="to", format=".4~g"),
                alt.Tooltip("share:Q", title="share of blocks", format=".2%"),
            ],
        )
    )  # fmt: skip
    if first:
        low, high, step = scene.slider
        slider = alt.binding_range(min=low, max=high, step=step, name="amax of one block ")
        bars = bars.add_params(
            alt.selection_point(name=BLOCK, fields=[AMAX], bind=slider, value=[{AMAX: scene.start}])
        )
    return panel(tint, bars, edge, words, *_one_block(scene, row, ink, scale), height=TALL, title=row.title)


def _one_block(scene: RulesScene, row: RuleRow, ink: Ink, scale: alt.Scale) -> list[alt.Chart]:
    """Where the block of the slider lands under this rule."""
    picked = f"(isArray({BLOCK}.{AMAX}) ? {BLOCK}.{AMAX}[0] : {scene.start})"
    here = (
        alt.Chart(alt.NamedData(f"moves {row.title}"))
        .transform_filter(f"abs(datum.amax - {picked}) < {scene.slider[2] / 4}")
        .transform_calculate(
            right=f"datum.lands > {scene.domain[0]} * pow({scene.domain[1] / scene.domain[0]}, 0.55)",
            words="'scale ' + datum.text + ' → ' + format(datum.lands, '.4~g')",
        )
    )
    x = alt.X("lands:Q", scale=scale)
    dot = here.mark_point(shape="triangle-down", filled=True, size=150, color=ink.text, opacity=1).encode(
        x=x,
        y=alt.YValue(LABEL),
        tooltip=[alt.Tooltip("lands:Q", title="lands at"), alt.Tooltip("text:N", title="scale")],
    )
    stem = here.mark_rule(color=ink.text, strokeWidth=2).encode(
        x=x, y=alt.YValue(LABEL), y2=alt.Y2Value(TALL)
    )
    label = [
        here.transform_filter(f"{'' if right else '!'}datum.right")
        .mark_text(align="right" if right else "left", dx=-9 if right else 9, color=ink.text, fontSize=12)
        .encode(x=x, y=alt.YValue(LABEL), text=alt.Text("words:N"))
        for right in (True, False)
    ]
    return [stem, dot, *label]


def _ticks(scene: RulesScene) -> list[float]:
    """The largest value, its half, and the power of two above."""
    low, high = scene.domain
    return [tick for tick in (scene.largest / 2, scene.largest * 0.75, scene.largest) if low <= tick <= high]
