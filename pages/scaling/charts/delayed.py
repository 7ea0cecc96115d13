"""amax over the steps of training, and the range of a scale from earlier steps.

In the browser, the parameter `looked_at` is the step on show. A handle on the timeline sets it.
"""

from collections.abc import Mapping

import altair as alt
import numpy as np
from numpy.typing import NDArray

from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import NARROW
from pages.kit.charts.parts import beside, halo, rail
from pages.kit.charts.template import Filled, number, several, template
from pages.kit.charts.words import power_labels
from pages.scaling.charts.window import Spec, panel, stack

STEP = "looked_at"
TIMELINE, BITS = "timeline", "bits"  # panels that a hand can drag
STEPS, EVERY, NAMES = "steps", "every step", "names"
AMAX, HOLDS = "amax", "the scale holds"
ROOM = 0.1  # share of the width for the labels, which stand inside
# Vega expressions: the label of a power of two that is short in full, and the row of the step on show.
PLAIN = "datum.value > -4 && datum.value < 14 ? format(pow(2, datum.value), ',~r')"
HERE = f"datum.step == {STEP}"


def delayed_chart(amax: NDArray, steps: Mapping[str, NDArray], ink: Ink) -> Filled:
    """The picture: figures of one step, the timeline, and the range unused or overrun.

    - `amax`: log2 of every step's amax.
    - `steps`: columns, a value for each step with a history: `step`, log2 of `amax` and of the value that the
      scale `holds`, `bits` between them (below 0 on overflow), `overflows`, its history `first` to `last`.
    """
    low, high = (float(end(amax.tolist() + steps["holds"].tolist())) for end in (min, max))
    room = max(0.08 * (high - low), 0.25)
    foot = np.full(steps["step"].size, low - 1.9 * room)  # the handle's height, below the name of amax
    return _delayed(ink).filled(
        {
            STEPS: {**steps, "foot": foot, "right": steps["step"] > amax.size / 6},
            EVERY: {"step": np.arange(amax.size), "amax": amax},
            NAMES: _names(amax, steps),
        },
        last=amax.size - 1,
        along=[-0.5 - ROOM / (1 - ROOM) * amax.size, amax.size - 0.5],
        heights=[low - 2.7 * room, high + 2 * room],
        bits=[float(steps["bits"].min(initial=0.0)), float(steps["bits"].max(initial=0.0))],
    )


def _names(amax: NDArray, steps: Mapping[str, NDArray]) -> dict[str, list[object]]:
    """The lines' names: above their widest gap, and below the lowest amax."""
    widest, lowest = int(steps["bits"].argmax()), int(amax.argmin())
    at = [int(steps["step"][widest]), lowest]
    return {
        "step": at,
        "at": [float(steps["holds"][widest]), float(amax[lowest])],
        "words": [HOLDS, AMAX],
        "right": [2 * step > amax.size for step in at],
    }


@template
def _delayed(ink: Ink) -> Spec:
    bind = alt.binding_range(min=1, max=number("last", 2), step=1, name="Step ")
    step = {"name": STEP, "value": 1, "bind": bind.to_dict()}
    return stack([_figures(ink), _timeline(ink), _bits(ink)], ink, step)


def _figures(ink: Ink) -> Spec:
    over = f"{_number('-datum.bits')} + ' times over'"
    unused = "format(abs(datum.bits), '.2f') + ' bits unused'"
    figures = (
        (0, "'step'", "format(datum.step, 'd')"),
        (0.6, f"'{AMAX}'", _number("datum.amax")),
        (1.6, f"'{HOLDS}'", _number("datum.holds")),
        (2.75, "datum.overflows ? 'overflows' : 'fits'", f"datum.overflows ? {over} : {unused}"),
    )
    base = alt.Chart(alt.NamedData(STEPS)).transform_filter(HERE)
    color = alt.when("datum.overflows").then(alt.value(ink.lost)).otherwise(alt.value(ink.text))
    size = alt.ExprRef(f"containerSize()[0] < {NARROW} ? 13 : 20")
    corner = {"align": "left", "baseline": "top"}
    layers = []
    for quarters, name, value in figures:
        x = alt.XDatum(quarters, scale=alt.Scale(domain=[0, 4]), axis=None)
        small = base.transform_calculate(words=name).mark_text(fontSize=13, color=ink.soft, **corner)
        large = base.transform_calculate(words=value).mark_text(fontSize=size, fontWeight="bold", **corner)
        layers.append(small.encode(x=x, y=alt.YValue(2), text=alt.Text("words:N")))
        layers.append(large.encode(x=x, y=alt.YValue(20), text=alt.Text("words:N"), color=color))
    return panel(*layers, height=52)


def _number(log2: str) -> str:
    plain = f"{log2} > -10 && {log2} < 17"
    return f"({plain} ? format(pow(2, {log2}), ',.4~r') : format(pow(2, {log2}), '.2~e'))"


def _along(field: str = "step:Q", **options: object) -> alt.X:
    scale = alt.Scale(domain=several("along", [0.0, 1.0]), nice=False, padding=5)
    return alt.X(field, scale=scale, **options)


def _history(ink: Ink) -> list[alt.Chart]:
    here = alt.Chart(alt.NamedData(STEPS)).transform_filter(HERE)
    band = here.transform_calculate(x0="datum.first - 0.5", x1="datum.last + 0.5")
    return [
        band.mark_rect(color=ink.soft, opacity=0.22).encode(x=_along("x0:Q"), x2=alt.X2("x1:Q")),
        here.mark_rule(color=ink.text, strokeWidth=1.5).encode(x=_along()),
    ]


def _timeline(ink: Ink) -> Spec:
    y_scale = alt.Scale(domain=several("heights", [0.0, 1.0]), nice=False)
    axis = alt.Axis(labelExpr=f"{PLAIN} : {power_labels('datum.value')}", tickCount=5, tickMinStep=1)
    x = _along(axis=alt.Axis(labels=False, ticks=False, title=None))
    amax, holds = (alt.Y(f"{field}:Q", scale=y_scale, axis=axis) for field in ("amax", "holds"))
    every, steps = alt.Chart(alt.NamedData(EVERY)), alt.Chart(alt.NamedData(STEPS))
    over = steps.transform_filter("datum.overflows").encode(x=x, y=amax)
    lost = {"color": ink.lost, "strokeWidth": 2}
    return panel(
        *_history(ink),
        steps.mark_line(interpolate="step", strokeWidth=2.5, color=ink.scale).encode(x=x, y=holds),
        every.mark_line(strokeWidth=1.75, color=ink.text).encode(x=x, y=amax),
        *_line_names(ink, x, alt.Y("at:Q", scale=y_scale, axis=axis)),
        over.mark_rule(**lost).encode(y2=alt.Y2("holds:Q")),
        over.mark_point(shape="triangle-up", fill=ink.lost_area, size=90, opacity=1, **lost),
        *_history_name(ink, alt.Y("foot:Q", scale=y_scale, axis=axis)),
        rail(
            steps.transform_calculate(at="datum.step", words="'step ' + datum.step"),
            x,
            alt.Y("foot:Q", scale=y_scale, axis=axis),
        ),
        height=270,
        name=TIMELINE,
        title="amax of each step, and what its scale holds",
    )


def _line_names(ink: Ink, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    names = alt.Chart(alt.NamedData(NAMES))
    bold = {"fontSize": 14, "fontWeight": "bold"}
    return [
        name.encode(x=x, y=y, text="words:N")
        for word, color, mark in (
            (HOLDS, ink.scale, {"baseline": "bottom", "dy": -6}),
            (AMAX, ink.text, {"baseline": "top", "dy": 4}),
        )
        for name in beside(
            names.transform_filter(f"datum.words == '{word}'"),
            "datum.right",
            dx=0,
            color=color,
            **mark,
            **bold,
            **halo(ink),
        )
    ]


def _history_name(ink: Ink, y: alt.Y) -> list[alt.Chart]:
    """The band's name, beside the handle."""
    here = alt.Chart(alt.NamedData(STEPS)).transform_filter(HERE)
    style = {"baseline": "middle", "fontSize": 13, "text": "history", "color": ink.soft}
    names = beside(here, "datum.right", dx=20, **style, **halo(ink))
    return [name.encode(x=_along(), y=y) for name in names]


def _bits(ink: Ink) -> Spec:
    scale = alt.Scale(domain=several("bits", [0.0, 1.0]), nice=True)
    y = alt.Y("bits:Q", scale=scale, axis=alt.Axis(tickCount=4))
    color = alt.when("datum.overflows").then(alt.value(ink.lost)).otherwise(alt.value(ink.mid))
    steps = alt.Axis(
        tickMinStep=1,
        labelExpr="datum.value < 0 ? '' : datum.label",
        tickOpacity=alt.condition("datum.value < 0", alt.value(0), alt.value(1)),
        format="d",
    )
    x = _along("x0:Q", axis=steps, title="step")
    bars = (
        alt.Chart(alt.NamedData(STEPS))
        .transform_calculate(x0="datum.step - 0.42", x1="datum.step + 0.42")
        .mark_rect()
        .encode(x=x, x2=alt.X2("x1:Q"), y=y, y2=alt.Y2Datum(0), color=color)
    )
    zero = alt.Chart(alt.Data(values=[{"bits": 0}])).mark_rule(color=ink.text, strokeWidth=1)
    _, cursor = _history(ink)
    title = "Bits of the range: unused (up), overrun (down)"
    return panel(bars, zero.encode(y=y), cursor, height=130, name=BITS, title=title)
