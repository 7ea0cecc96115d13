"""A dot product step by step: every term as its bits, the cut, the sums. The slider works in the browser."""

from typing import Any

import altair as alt

from pages.accumulation.charts.scene import (
    HEAD,
    LEFT,
    RIGHT,
    STRIP_HEAD,
    WIDE,
    StepScene,
    grid_columns,
    one_columns,
    step_columns,
    strip_columns,
    term_columns,
)
from pages.kit.charts.ink import Ink
from pages.kit.charts.legible import NARROW
from pages.kit.charts.template import Filled, number, template

STEP = "step"
GRID, TERMS, ONES, SUMS, STRIP_ROWS = "grid", "terms", "ones", "sums", "strip"
NOW = f"datum.step == {STEP}"
FIGURES = (
    ("exact", "this step, exact", "exact"),
    ("kept", "after the cut", "after cut"),
    ("chain", "stored as c", "as c"),
    ("total", "result so far", "so far"),
    ("off", "off in all", "off in all"),
)
"""A field, its words, and those of a narrow page."""
KEYS = (("■", "dot", "a bit that is 1", 0), ("□", "lost", "cut off", 118))
"""Marks of bits with their colors, words, and pixels from the left."""
_NARROW = f"containerSize()[0] < {NARROW}"
_BETWEEN = 6
_PLACES = ("zero_y", "tall", "foot", "half", "inset", "strip_head")


def steps_chart(scene: StepScene, first: int, ink: Ink) -> Filled:
    """The picture, opened at step `first`."""
    datasets = {
        GRID: grid_columns(scene),
        SUMS: step_columns(scene),
        TERMS: term_columns(scene),
        ONES: one_columns(scene),
    }
    places = {
        "step": first,
        "zero_y": scene.y(0),
        "tall": scene.bit_tall,
        "foot": scene.bottom,
        "half": scene.bar / 2,
        "inset": scene.bar / 5,
        "strip_head": scene.strip_top - STRIP_HEAD + 16,
        "height": scene.height,
    }
    if scene.has_strip:
        datasets[STRIP_ROWS] = strip_columns(scene)
        places["last"] = len(scene.steps)
    return _template(ink, scene.has_strip).filled(datasets, **places)


@template
def _template(ink: Ink, has_strip: bool) -> alt.LayerChart:
    """The picture without its numbers; a single step needs no slider and no strip."""
    layers, bound = [_grid(ink), _sums(ink), *_terms(ink)], {}
    if has_strip:
        layers.append(_strip(ink))
        bound = {"bind": alt.binding_range(min=1, max=number("last", 2), step=1, name="Step ")}
    places = [alt.param(name=name, value=number(name, 0)) for name in _PLACES]
    chart = alt.layer(*layers, height=number("height", 300))
    chart = chart.add_params(alt.param(name=STEP, value=number("step", 1), **bound), *places)
    return chart.configure_view(stroke=None).configure_mark(tooltip=None)


def _x(field: str) -> alt.X:
    return alt.X(f"{field}:Q", scale=alt.Scale(domain=[0, WIDE], nice=False), axis=None)


def _y(field: str) -> alt.Y:
    """A place in pixels, as the scene has it."""
    return alt.Y(f"{field}:Q", scale=None, axis=None)


def _at(x: float, y: float) -> dict[str, Any]:
    """The place of a mark that does not depend on the data."""
    across = alt.X(datum=x, type="quantitative", scale=alt.Scale(domain=[0, WIDE]), axis=None)
    return {"x": across, "y": alt.value(y)}


def _grid(ink: Ink) -> alt.LayerChart:
    base = alt.Chart().transform_calculate(left=str(LEFT), right=str(RIGHT))
    lines = base.mark_rule(color=ink.hair, strokeWidth=1, aria=False).encode(
        x=_x("left"), x2="right:Q", y=_y("y")
    )
    names = base.mark_text(align="right", dx=-6, fontSize=11, color=ink.soft, aria=False).encode(
        x=_x("left"), y=_y("middle"), text="name:N"
    )
    return alt.layer(lines, names, data=alt.NamedData(GRID))


def _terms(ink: Ink) -> tuple[alt.LayerChart, alt.Chart, alt.LayerChart]:
    """Bars of bits: filled above the cut, empty and dashed below it; a dot for each one among them."""
    now = alt.Chart().transform_filter(NOW).transform_calculate(x0="datum.x - half", x1="datum.x + half")
    kept = now.transform_filter("datum.top < datum.cut").mark_rect(
        fill=ink.page, stroke=ink.line, strokeWidth=1, cornerRadius=3, aria=False
    )
    lost = now.transform_filter("datum.cut < datum.low").mark_rect(
        fill=ink.lost_area, cornerRadius=3, aria=False
    )
    gone = now.transform_filter("datum.gone").mark_text(
        text="0", fontSize=13, fontWeight="bold", baseline="bottom", color=ink.lost, aria=False
    )
    one = "zero_y - tall * (datum.exponent + 1)"
    ones = (
        alt.Chart(alt.NamedData(ONES))
        .transform_filter(NOW)
        .transform_calculate(
            one_top=f"{one} + {_BETWEEN / 4}",
            one_low=f"{one} + tall - {_BETWEEN / 4}",
            one_left="datum.x - half + inset",
            one_right="datum.x + half - inset",
        )
        .mark_rect(aria=False, strokeWidth=1.2, cornerRadius=1)
        .encode(
            x=_x("one_left"),
            x2="one_right:Q",
            y=_y("one_top"),
            y2="one_low:Q",
            fill=alt.condition("datum.is_kept", alt.value(ink.dot), alt.value(ink.page)),
            stroke=alt.condition("datum.is_kept", alt.value(ink.dot), alt.value(ink.lost)),
        )
    )
    sign = now.mark_text(fontSize=13, fontWeight="bold", baseline="bottom", dy=-1, color=ink.text, aria=False)
    label = now.mark_text(fontSize=11, baseline="top", color=ink.soft, aria=False)
    told = now.mark_rect(opacity=0, color=ink.text)
    tooltip = [
        alt.Tooltip("term:N", title="term"),
        alt.Tooltip("value:N", title="exact"),
        alt.Tooltip("kept:N", title="kept"),
        alt.Tooltip("lost:N", title="lost"),
        alt.Tooltip("share:Q", title="lost share", format=".3~%"),
    ]
    bars = alt.layer(
        kept.encode(x=_x("x0"), x2="x1:Q", y=_y("top"), y2="cut:Q"),
        lost.encode(x=_x("x0"), x2="x1:Q", y=_y("cut"), y2="low:Q"),
        data=alt.NamedData(TERMS),
    )
    words = alt.layer(
        gone.transform_calculate(base="foot").encode(x=_x("x"), y=_y("base"), text=alt.value("0")),
        sign.encode(x=_x("x"), y=_y("top"), text="sign:N"),
        label.transform_calculate(under="foot + 5").encode(x=_x("x"), y=_y("under"), text="label:N"),
        told.transform_calculate(high=str(HEAD), low_end="foot").encode(
            x=_x("x0"), x2="x1:Q", y=_y("high"), y2="low_end:Q", tooltip=tooltip
        ),
        data=alt.NamedData(TERMS),
    )
    return bars, ones, words


def _sums(ink: Ink) -> alt.LayerChart:
    """The window of the step at hand, and its figures."""
    now = alt.Chart().transform_filter(NOW).transform_calculate(left=str(LEFT), right=str(RIGHT))
    window = now.mark_rect(color=ink.win, aria=False)
    cut = now.mark_rule(color=ink.scale, strokeWidth=1.5, strokeDash=[2, 3], aria=False)
    name = now.mark_text(align="left", dx=4, fontSize=13, color=ink.scale, fontWeight="bold", aria=False)
    layers = [
        window.encode(x=_x("left"), x2="right:Q", y=_y("unit"), y2="edge:Q"),
        cut.encode(x=_x("left"), x2="right:Q", y=_y("edge")),
        now.mark_rule(color=ink.scale, strokeWidth=2.5, aria=False).encode(
            x=_x("left"), x2="right:Q", y=_y("unit")
        ),
        name.encode(x=_x("right"), y=_y("edge"), text="edge_name:N"),
        name.encode(x=_x("right"), y=_y("unit"), text="unit_name:N"),
        now.mark_text(align="left", fontSize=14, fontWeight="bold", color=ink.text, aria=False).encode(
            **_at(0, 14), text="head:N"
        ),
    ]
    for place, (field, wide, narrow) in enumerate(FIGURES):
        at = place * WIDE / len(FIGURES)
        color = ink.lost if field == "off" else ink.text
        size = alt.ExprRef(f"{_NARROW} ? 13 : 18")
        figure = now.mark_text(align="left", fontSize=size, fontWeight="bold", color=color, aria=False)
        under = now.mark_text(align="left", fontSize=12, color=ink.soft, aria=False)
        words = alt.value(alt.ExprRef(f"{_NARROW} ? '{narrow}' : '{wide}'"))
        layers += [
            under.encode(**_at(at, 40), text=words),
            figure.encode(**_at(at, 60), text=f"{field}:N"),
        ]
    for mark, color, words, dx in KEYS:
        key = now.mark_text(
            align="left", dx=dx, fontSize=13, fontWeight="bold", color=getattr(ink, color), aria=False
        )
        layers.append(key.encode(x=_x("left"), y=alt.value(84), text=alt.value(f"{mark} {words}")))
    return alt.layer(*layers, data=alt.NamedData(SUMS))


def _strip(ink: Ink) -> alt.LayerChart:
    """The error of the result after every step, with the step at hand."""
    base = alt.Chart()
    tooltip = [
        alt.Tooltip("step:Q", title="step"),
        alt.Tooltip("total:N", title="result so far"),
        alt.Tooltip("exact:N", title="exact so far"),
        alt.Tooltip("off:N", title="off by"),
    ]
    place = {"x": _x("x"), "y": _y("y")}
    once = base.transform_filter("datum.step == 1").transform_calculate(
        left=str(LEFT), right=str(RIGHT), head="strip_head"
    )
    return alt.layer(
        once.mark_text(align="left", fontSize=13, fontWeight="bold", color=ink.text, aria=False).encode(
            x=_at(0, 0)["x"],
            y=_y("head"),
            text=alt.value("What the result so far has lost"),
        ),
        once.mark_rule(color=ink.soft, strokeWidth=1, aria=False).encode(
            x=_x("left"), x2="right:Q", y=_y("zero")
        ),
        once.mark_text(align="right", dx=-6, fontSize=11, color=ink.soft, aria=False).encode(
            x=_x("left"), y=_y("zero"), text=alt.value("0")
        ),
        base.mark_area(color=ink.lost_area, aria=False).encode(**place, y2="zero:Q"),
        base.mark_line(color=ink.text, strokeWidth=2.5, aria=False).encode(**place),
        base.mark_circle(color=ink.text, size=40, opacity=1).encode(**place, tooltip=tooltip),
        base.transform_filter(NOW)
        .mark_point(color=ink.text, size=160, strokeWidth=2.5, filled=False, opacity=1, aria=False)
        .encode(**place),
        base.transform_filter(NOW)
        .mark_text(align="left", dx=12, fontSize=13, fontWeight="bold", color=ink.text, aria=False)
        .encode(x=_x("x"), y=_y("word_y"), text="off:N"),
        data=alt.NamedData(STRIP_ROWS),
    )
