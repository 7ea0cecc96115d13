"""A block's amax under four scale rules: a histogram a rule over amax / scale, and one block to move.

The selection `block` holds amax of that block; a slider in the browser sets it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np

from pages.kit.charts.bars import histogram
from pages.kit.charts.ink import Ink
from pages.kit.charts.labels import beside
from pages.kit.charts.legible import view_title
from pages.kit.charts.template import Columns, Filled, number, several, template, text
from pages.scaling.charts.stack import START, Spec, panel, stack

BLOCK = "block"
AMAX = "amax"
TALL, LABEL, AROUND = 98, 12, 200
"""Pixels of a row, of its label, and of all that is around the rows."""
ROOM = 1.6
NOW = f"(isArray({BLOCK}.{AMAX}) ? {BLOCK}.{AMAX}[0] : {START})"
"""Vega expression: amax of the block that the slider moves."""
BEYOND = "beyond"


@dataclass(frozen=True, kw_only=True)
class RuleRow:
    """One rule.

    `bins`: amax / scale from `x0` to `x1`, its `share` of the blocks, and whether it is `beyond` Qmax.
    `moves`: for each `amax` of the slider where it `lands`, and its scale as `text`. A dataset can be packed
    already.
    """

    title: str
    bins: Columns
    moves: Columns | bytes


@dataclass(frozen=True, kw_only=True)
class RulesScene:
    """All rules for one element format with the largest value `largest`; `domain` of amax / scale."""

    rows: Sequence[RuleRow]
    largest: float
    domain: tuple[float, float]
    slider: tuple[float, float, float]
    start: float


def rules_chart(scene: RulesScene, ink: Ink, tall: int = TALL) -> Filled:
    """A histogram a rule, each `tall` pixels high, one below the other, on one axis."""
    low, high = scene.domain
    values: dict[str, Columns | bytes] = {BEYOND: {"low": [low], "x0": [scene.largest], "x1": [high]}}
    holes: dict[str, object] = {}
    for i, row in enumerate(scene.rows):
        values |= {f"bins {i}": row.bins, f"moves {i}": row.moves}
        top = float(np.max(row.bins["share"], initial=0.0)) * ROOM
        holes |= {f"title {i}": view_title(row.title), f"shares {i}": [0.0, top]}
    return _rules(len(scene.rows), scene.slider, tall, ink).filled(
        values,
        start=scene.start,
        domain=[low, high],
        ticks=_ticks(scene),
        right=f"datum.lands > {low * (high / low) ** 0.55}",
        **holes,
    )


@template
def _rules(rules: int, slider: tuple[float, float, float], tall: int, ink: Ink) -> Spec:
    return stack([_row(i, slider, tall, ink, last=i == rules - 1) for i in range(rules)], ink, spacing=8)


def _row(place: int, slider: tuple[float, float, float], tall: int, ink: Ink, *, last: bool) -> Spec:
    first = place == 0
    scale = alt.Scale(type="log", base=2, domain=several("domain", [1.0, 2.0]), nice=False)
    axis = alt.Axis(
        values=several("ticks", [1.0]),
        format="~g",
        title="amax / scale",
    )
    x = alt.X("x0:Q", scale=scale, axis=axis if last else alt.Axis(labels=False, ticks=False, title=None))
    shares = alt.Scale(domain=several(f"shares {place}", [0.0, 1.0]), nice=False)
    y = alt.Y("share:Q", scale=shares, axis=None)
    beyond = alt.Chart(alt.NamedData(BEYOND))
    window = beyond.mark_rect(color=ink.win, aria=False).encode(
        x=alt.X("low:Q", scale=scale), x2=alt.X2("x0:Q")
    )
    edge = beyond.mark_rule(color=ink.scale, strokeWidth=2.5, aria=False).encode(x=x)
    words = beyond.mark_text(
        text="clipped", color=ink.lost, fontSize=14, fontWeight="bold", align="left", dx=8, baseline="bottom"
    ).encode(x=x, y=alt.YValue(tall - 4))
    bins = alt.Chart(alt.NamedData(f"bins {place}"))
    tooltip = [
        alt.Tooltip("x0:Q", title="amax / scale from", format=".4~g"),
        alt.Tooltip("x1:Q", title="to", format=".4~g"),
        alt.Tooltip("share:Q", title="share of blocks", format=".2%"),
    ]
    bars = histogram(
        bins.encode(x=x, x2=alt.X2("x1:Q"), y=y, y2=alt.Y2Datum(0)), tooltip, ink, lost="datum.beyond"
    )
    if first:
        low, high, step = slider
        bind = alt.binding_range(min=low, max=high, step=step, name="amax of one block ")
        bars = bars.add_params(
            alt.selection_point(name=BLOCK, fields=[AMAX], bind=bind, value=[{AMAX: number("start", 1.0)}])
        )
    layers = [
        window,
        bars,
        edge,
        *([words] if first else []),
        *_one_block(place, slider[2], tall, ink, scale),
    ]
    return panel(*layers, height=tall, title=text(f"title {place}", "rule"))


def _one_block(place: int, step: float, tall: int, ink: Ink, scale: alt.Scale) -> list[alt.Chart]:
    """Where the block of the slider lands under this rule."""
    here = (
        alt.Chart(alt.NamedData(f"moves {place}"))
        .transform_filter(f"abs(datum.amax - {NOW}) < {step / 4}")
        .transform_calculate(words="'scale ' + datum.text + ' → ' + format(datum.lands, '.4~g')")
    )
    x = alt.X("lands:Q", scale=scale)
    dot = here.mark_point(shape="triangle-down", filled=True, size=150, color=ink.text, opacity=1).encode(
        x=x,
        y=alt.YValue(LABEL),
        tooltip=[alt.Tooltip("lands:Q", title="lands at"), alt.Tooltip("text:N", title="scale")],
    )
    stem = here.mark_rule(color=ink.text, strokeWidth=2).encode(
        x=x, y=alt.YValue(LABEL), y2=alt.Y2Value(tall)
    )
    label = [
        side.encode(x=x, y=alt.YValue(LABEL), text=alt.Text("words:N"))
        for side in beside(here, text("right", "datum.lands > 1"), dx=9, color=ink.text, fontSize=13)
    ]
    return [stem, dot, *label]


def _ticks(scene: RulesScene) -> list[float]:
    """The largest value, its half, and the power of two above."""
    low, high = scene.domain
    return [tick for tick in (scene.largest / 2, scene.largest * 0.75, scene.largest) if low <= tick <= high]
