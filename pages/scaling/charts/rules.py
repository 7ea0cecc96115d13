"""A block's amax under four scale rules: a histogram a rule over amax / scale, and one block to move.

The parameter `block` is amax of that block. The handle in HANDLE_ROW sets it; a pointer on a further row of
RAILS sets it, too.
"""

from collections.abc import Mapping

import altair as alt
import numpy as np

from pages.kit.charts.bars import histogram
from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import view_title
from pages.kit.charts.parts import RAIL, beside, halo, rail, tips
from pages.kit.charts.template import Columns, Filled, several, template, text
from pages.scaling.charts.window import Spec, panel, stack

BLOCK = "block"
LABEL, AROUND = 12, 170  # pixels of a row's label, and of all around the rows
# The row of the handle, and the rails by row. The first row does not move: its scale is exact.
HANDLE_ROW = 1
RAILS = {HANDLE_ROW: RAIL, 2: "second", 3: "third"}
BEYOND = "beyond"
# amax of the block that moves: the least, the largest and a step. Each power of two repeats the picture.
SLIDER = (1.0, 2.0 - 1 / 32, 1 / 32)


def rules_chart(
    rows: Mapping[str, tuple[Columns, Columns | bytes]],
    largest: float,
    domain: tuple[float, float],
    ink: Ink,
    tall: int,
) -> Filled:
    """A histogram a rule, each `tall` pixels high, on one axis of amax / scale.

    A row has its title, and two datasets:

    - the bins: amax / scale from `x0` to `x1`, its `share` of the blocks, and whether it is `beyond` Qmax.
    - the moves: for each `amax` of the slider, amax / scale (`lands`), and the scale as `text`.
    """
    low, high = domain
    values: dict[str, Columns | bytes] = {BEYOND: {"low": [low], "x0": [largest], "x1": [high]}}
    holes: dict[str, object] = {}
    for i, (title, (bins, moves)) in enumerate(rows.items()):
        values |= {f"bins {i}": bins, f"moves {i}": moves}
        top = 1.6 * float(np.max(bins["share"], initial=0.0))
        holes |= {f"title {i}": view_title(title), f"shares {i}": [0.0, top]}
    return _rules(len(rows), tall, ink).filled(
        values,
        domain=[low, high],
        ticks=[tick for tick in (largest / 2, largest * 0.75, largest) if low <= tick <= high],
        right=f"datum.lands > {low * (high / low) ** 0.55}",
        **holes,
    )


@template
def _rules(rules: int, tall: int, ink: Ink) -> Spec:
    low, high, step = SLIDER
    bind = alt.binding_range(min=low, max=high, step=step, name="amax of one block ")
    block = {"name": BLOCK, "value": low, "bind": bind.to_dict()}
    return stack([_row(i, tall, ink, last=i == rules - 1) for i in range(rules)], ink, block)


def _row(row: int, tall: int, ink: Ink, *, last: bool) -> Spec:
    first = row == 0
    scale = alt.Scale(type="log", base=2, domain=several("domain", [1.0, 2.0]), nice=False)
    axis = alt.Axis(values=several("ticks", [1.0]), format="~g", title="amax / scale")
    x = alt.X("x0:Q", scale=scale, axis=axis if last else alt.Axis(labels=False, ticks=False, title=None))
    shares = alt.Scale(domain=several(f"shares {row}", [0.0, 1.0]), nice=False)
    y = alt.Y("share:Q", scale=shares, axis=None)
    beyond = alt.Chart(alt.NamedData(BEYOND))
    window = beyond.mark_rect(color=ink.win).encode(x=alt.X("low:Q", scale=scale), x2=alt.X2("x0:Q"))
    edge = beyond.mark_rule(color=ink.scale, strokeWidth=2.5).encode(x=x)
    words = beyond.mark_text(
        text="clipped", color=ink.lost, fontSize=14, fontWeight="bold", align="left", dx=8, baseline="bottom"
    ).encode(x=x, y=alt.YValue(tall - 4))
    bins = alt.Chart(alt.NamedData(f"bins {row}"))
    tooltip = tips(
        ("x0:Q", "amax / scale from", ".4~g"), ("x1:Q", "to", ".4~g"), ("share:Q", "share of blocks", ".2%")
    )
    bars = histogram(
        bins.encode(x=x, x2=alt.X2("x1:Q"), y=y, y2=alt.Y2Datum(0)), tooltip, ink, lost="datum.beyond"
    )
    layers = [window, bars, edge, *([words] if first else []), *_one_block(row, tall, ink, scale)]
    title, name = text(f"title {row}", "rule"), row_name(row) if row in RAILS else ""
    return panel(*layers, height=tall, title=title, name=name)


def row_name(row: int) -> str:
    return f"row{row}"


def _one_block(row: int, tall: int, ink: Ink, scale: alt.Scale) -> list[alt.Chart]:
    moves = alt.Chart(alt.NamedData(f"moves {row}")).transform_calculate(
        at="datum.amax", words="'scale ' + datum.text + ' → ' + format(datum.lands, '.4~g')"
    )
    with_amax = moves.transform_calculate(words="'amax ' + datum.amax + ', ' + datum.words")
    here = (moves if row else with_amax).transform_filter(f"abs(datum.amax - {BLOCK}) < {SLIDER[2] / 4}")
    x, y = alt.X("lands:Q", scale=scale), alt.YValue(LABEL)
    tooltip = tips(("lands:Q", "lands at"), ("text:N", "scale"))
    dot = here.mark_point(filled=True, size=90, color=ink.text, opacity=1)
    stem = here.mark_rule(color=ink.text, strokeWidth=2).encode(x=x, y=y, y2=alt.Y2Value(tall))
    dx, is_right = 18 if row == HANDLE_ROW else 9, text("right", "datum.lands > 1")
    label = [
        side.encode(x=x, y=y, text=alt.Text("words:N"))
        for side in beside(here, is_right, dx=dx, color=ink.text, fontSize=13, **halo(ink))
    ]
    rails = [rail(with_amax, x, y, RAILS[row])] if row in RAILS else []
    return [stem, dot.encode(x=x, y=y, tooltip=tooltip), *label, *rails]
