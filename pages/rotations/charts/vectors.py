"""One vector before and after a rotation, in a format's window.

An entry is linear in the outlier's magnitude: `rest + magnitude · slope`. So the browser needs no Python for
another magnitude.
"""

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from fp8core.formats.binades import mantissa_bits
from fp8core.recipes import OperandSpec
from fp8core.scales import Fit
from pages.kit.charts.ink import Ink
from pages.kit.charts.parts import rail, tips
from pages.kit.charts.template import Columns, Filled, number, template, text

OUTLIER = "magnitude"  # the parameter of the slider
ENTRIES, POSITIONS, TICKS = "entries", "positions", "ticks"
_EPSILON = 1e-9
# Pixels: of the axis' labels, between the panels, of the words at the right, above a panel and below it.
_LEFT, _GAP, _WORDS, _HEAD, _FOOT, _NARROW_FOOT = 40, 44, 236, 46, 96, 52
# The panels stand side by side on a wide page; on the widest page, words stand beside them.
_WIDE, _WIDEST = "width >= 600", "width >= 900"
_PANEL = {
    "panel_wide": f"{_WIDE} ? (width - {_LEFT + _GAP} - ({_WIDEST} ? {_WORDS} : 0)) / 2 : width - {_LEFT}",
    "panel_tall": f"{_WIDE} ? height - {_HEAD + _FOOT} : height / 2 - {_HEAD + _NARROW_FOOT}",
}
_X0 = f"({_LEFT} + ({_WIDE} ? datum.panel * (panel_wide + {_GAP}) : 0))"
_Y0 = f"({_HEAD} + ({_WIDE} ? 0 : datum.panel * height / 2))"
_X1, _Y1 = f"({_X0} + panel_wide)", f"({_Y0} + panel_tall)"
_PIXELS = alt.Scale(domain=[0, 1000], range=[0, 1000], nice=False, zero=False)
_MOST_STEMS, _MOST_LARGE = 64, 256  # the most elements with a stem each, and with large dots


def vector_picture(
    data: Mapping[str, Columns | bytes],
    words: Mapping[str, str],
    spec: OperandSpec,
    size: int,
    limits: tuple[int, int],
    ends: tuple[float, float],
    height: int,
    ink: Ink,
) -> Filled:
    """The vector's numbers in two panels over one logarithmic axis, from `ends[0]` to `ends[1]`.

    The handle goes over `limits`. Datasets have a column `panel`, 0 before the rotation and 1
    after it:

    - ENTRIES: an entry's number `i`, its `tile`, `rest`, `slope`, and whether it is an `outlier`.
    - POSITIONS: for each magnitude `at` of entry `i`: the numbers in `words`, which are Vega expressions, the
      `edge` of the last window, and an outlier's `share` in each number.
    """
    element = spec.format
    ticks = [k for k in range(-10, 10) if ends[0] < 4.0**k < ends[1]]
    columns = {
        "panel": [0, 1] * len(ticks),
        "value": np.repeat([4.0**k for k in ticks], 2),
        "label": np.repeat([f"{4**k}" if k >= 0 else f"1/{4**-k}" for k in ticks], 2),
    }
    return _picture(limits, ink).filled(
        {**data, TICKS: columns},
        **words,
        size=size,
        low=ends[0],
        high=ends[1],
        height=height,
        scale=scale_expr(spec, "datum.amax"),
        top=f"datum.scale * {element.max}",
        normal=f"datum.scale * {element.min_normal}",
        half=f"datum.scale * {element.min_subnormal / 2}",
        # A number up to half a step above the largest value rounds to it, and is not called clipped.
        beyond=f"datum.scale * {element.max + element.ulp(element.max) / 2}",
        area=60 if size <= _MOST_LARGE // 4 else 20 if size <= _MOST_LARGE else 8,
        stems="true" if size <= _MOST_STEMS else "datum.kind == 'outlier'",
    )


@template
def _picture(limits: tuple[int, int], ink: Ink) -> alt.LayerChart:
    bind = alt.binding_range(min=limits[0], max=limits[1], step=1, name="Outlier's magnitude ")
    hand = alt.param(name=OUTLIER, value=limits[0], bind=bind)
    holes = {"size": ("size", 16), "low": ("low", 0.1), "high": ("high", 100.0)}
    params = [alt.param(name=name, value=number(*hole)) for name, hole in holes.items()]
    params += [alt.param(name=name, expr=expr) for name, expr in _PANEL.items()]
    layers = (*_windows(ink), *_grid(ink), _share(ink), *_numbers(ink), *_words(ink), _rail())
    return (
        alt.layer(*layers, height=number("height", 500)).add_params(*params, hand).configure_view(stroke=None)
    )


def _across(field: str) -> alt.X:
    return alt.X(f"{field}:Q", scale=_PIXELS, axis=None)


def _up(field: str) -> alt.Y:
    return alt.Y(f"{field}:Q", scale=_PIXELS, axis=None)


def _at(i: str) -> str:
    return f"{_X0} + ({i} + 0.5) / size * panel_wide"


def _height(value: str) -> str:
    """A Vega expression for the place of a size; a size below the axis lies at its foot."""
    return f"{_Y0} + panel_tall * log(high / clamp({value}, low, high)) / log(high / low)"


def _entries() -> alt.Chart:
    return (
        alt.Chart(alt.NamedData(ENTRIES))
        .transform_calculate(value=f"datum.rest + {OUTLIER} * datum.slope")
        .transform_calculate(abs="abs(datum.value)")
        .transform_joinaggregate(amax="max(abs)", groupby=["panel", "tile"])
        .transform_calculate(scale=text("scale", "datum.amax"))
        .transform_calculate(half=text("half", "datum.scale"), beyond=text("beyond", "datum.scale"))
    )


def _now() -> alt.Chart:
    return alt.Chart(alt.NamedData(POSITIONS)).transform_filter(f"datum.at == {OUTLIER}")


def scale_expr(spec: OperandSpec, amax: str) -> str:
    """A Vega expression for a tile's scale, by the rules of `fp8core.scales`; amax > 0."""
    element = spec.format
    log2, top = f"log({amax}) / LN2", f"floor(log({amax}) / LN2 + {_EPSILON})"
    match spec.scale_rule.fit:
        case Fit.NEAREST:
            return f"{amax} / {element.max}"
        case Fit.FLOOR:
            return f"pow(2, {top} - {element.e_max})"
        case Fit.CEIL:
            return f"pow(2, ceil({log2} - {_EPSILON}) - {element.e_max})"
        case Fit.ROUND_UP:
            return f"pow(2, ceil({log2} - log({element.max}) / LN2 - {_EPSILON}))"
        case Fit.EVEN:
            half_step = 2.0 ** -(mantissa_bits(element, element.e_max) + 1)
            rounded = f"({amax} / pow(2, {top}) + {half_step} >= 2 ? 1 : 0)"
            return f"pow(2, {top} + {rounded} - {element.e_max})"


def _windows(ink: Ink) -> list[alt.Chart]:
    windows = (
        _entries()
        .transform_aggregate(
            scale="max(scale)", half="max(half)", first="min(i)", final="max(i)", groupby=["panel", "tile"]
        )
        .transform_calculate(top=text("top", "datum.scale"), normal=text("normal", "datum.scale"))
        .transform_calculate(
            left=_at("datum.first - 0.5"),
            right=_at("datum.final + 0.5"),
            top_y=_height("datum.top"),
            normal_y=_height("datum.normal"),
            half_y=_height("datum.half"),
        )
    )
    x = {"x": _across("left"), "x2": "right:Q"}
    return [
        windows.mark_rect(color=ink.win).encode(**x, y=_up("top_y"), y2="normal_y:Q"),
        windows.mark_rect(color=ink.sub).encode(**x, y=_up("normal_y"), y2="half_y:Q"),
        windows.mark_rule(color=ink.scale, strokeWidth=2.5).encode(**x, y=_up("top_y")),
        windows.transform_filter("datum.half > low")
        .mark_rule(color=ink.scale, strokeWidth=1.5, strokeDash=[2, 3])
        .encode(**x, y=_up("half_y")),
    ]


def _grid(ink: Ink) -> list[alt.Chart]:
    ticks = alt.Chart(alt.NamedData(TICKS)).transform_calculate(
        left=_X0, right=_X1, label_x=f"{_X0} - 8", y=_height("datum.value"), foot=_Y1
    )
    x = {"x": _across("left"), "x2": "right:Q"}
    labels = ticks.transform_filter(f"datum.panel == 0 || !({_WIDE})").mark_text(
        align="right", baseline="middle", fontSize=13, color=ink.soft
    )
    return [
        ticks.mark_rule(color=ink.line, opacity=0.35).encode(**x, y=_up("y")),
        ticks.mark_rule(color=ink.line).encode(**x, y=_up("foot")),
        labels.encode(x=_across("label_x"), y=_up("y"), text="label:N"),
    ]


def _share(ink: Ink) -> alt.Chart:
    share = (
        _now()
        .transform_filter("datum.panel")
        .transform_calculate(left=_X0, right=_X1, y=_height("datum.share"))
    )
    mark = share.mark_rule(color=ink.gold, strokeWidth=2.5, strokeDash=[3, 3])
    return mark.encode(x=_across("left"), x2="right:Q", y=_up("y"))


def _numbers(ink: Ink) -> list[alt.Chart]:
    kinds = ["outlier", "entry", "becomes 0", "clipped"]

    def look(*values: Any) -> dict[str, Any]:
        return {"legend": None, "scale": alt.Scale(domain=kinds, range=list(values))}

    base = (
        _entries()
        .transform_calculate(zero="datum.abs <= datum.half")
        .transform_calculate(
            kind="datum.zero ? 'becomes 0' : datum.abs > datum.beyond * 1.000001 ? 'clipped' "
            ": datum.outlier ? 'outlier' : 'entry'",
            x=_at("datum.i"),
            y=_height("datum.abs"),
            foot=_Y1,
        )
    )
    x = {"x": _across("x")}
    stems = (
        base.transform_filter(text("stems", "true"))
        .mark_rule()
        .encode(
            **x,
            y=_up("y"),
            y2="foot:Q",
            color=alt.Color("kind:N", **look(ink.gold, ink.line, ink.lost, ink.line)),
            strokeWidth=alt.condition("datum.kind == 'outlier'", alt.value(3.5), alt.value(1.25)),
            strokeDash=alt.StrokeDash("kind:N", **look([1, 0], [1, 0], [1.5, 3], [1, 0])),
        )
    )
    # A number that becomes 0 is hollow.
    heads = base.mark_point(size=number("area", 60), opacity=1, shape="circle", strokeWidth=1.75).encode(
        **x,
        y=_up("y"),
        stroke=alt.Stroke("kind:N", **look(ink.dot, ink.dot, ink.lost, ink.lost)),
        fill=alt.Fill("kind:N", **look(ink.dot, ink.dot, ink.page, ink.lost)),
        tooltip=tips(
            ("i:Q", "element"),
            ("value:Q", "value", ".4~g"),
            ("amax:Q", "largest |x| of its tile", ".4~g"),
            ("half:Q", "zero up to", ".3~g"),
            ("kind:N", "quantized"),
        ),
    )
    zeros = (
        base.transform_filter("datum.zero && panel_wide >= 8.5 * size")
        .mark_text(text="0", dy=10, fontSize=13, fontWeight="bold", color=ink.lost)
        .encode(**x, y=_up("foot"))
    )
    return [stems, heads, zeros]


def _words(ink: Ink) -> list[alt.Chart]:
    fields = ("head", "big", "small", "window", "follows", "moves", "length")
    now = _now().transform_calculate(
        **{name: text(name, "''") for name in fields},
        title="datum.panel ? 'After the rotation' : 'Before'",
        back="'Rotated back, nothing is lost:'",
    )
    now = now.transform_calculate(
        x=_X0,
        words_x=f"{_X0} + (datum.panel ? 34 : 0)",
        title_y=f"{_Y0} - 38",
        head_y=f"{_Y0} - 18",
        big_y=f"{_Y1} + 48",
        small_y=f"{_Y1} + 81",
        line_y=f"{_Y1} + 30",
        line="datum.big + ' ' + datum.small",
        side=f"{_X1} + 22",
        edge_y=_height("datum.edge"),
        back_y=f"{_Y1} + 42",
    )
    sample = now.transform_filter("datum.panel").transform_calculate(end="datum.x + 26")
    wide, narrow = now.transform_filter(_WIDE), now.transform_filter(f"!({_WIDE})")
    bad = alt.condition("datum.zeros", alt.value(ink.lost), alt.value(ink.text))
    beside = now.transform_filter(f"datum.panel && {_WIDEST}")

    def words(base: alt.Chart, field: str, x: str, y: str, **mark: Any) -> alt.Chart:
        style = {"align": "left", "baseline": "middle", **mark}
        return base.mark_text(**style).encode(x=_across(x), y=_up(y), text=f"{field}:N")

    def figure(base: alt.Chart, field: str, size: Any) -> alt.Chart:
        mark = base.mark_text(align="left", fontWeight=600, fontSize=size)
        return mark.encode(x=_across("x"), y=_up(f"{field}_y"), text=f"{field}:N", color=bad)

    def aside(field: str, y: str, dy: int, color: str, weight: int = 400) -> alt.Chart:
        return words(beside, field, "side", y, dy=dy, color=color, fontWeight=weight, fontSize=14)

    return [
        words(now, "title", "x", "title_y", fontSize=15, fontWeight=600, color=ink.text),
        words(now, "head", "words_x", "head_y", fontSize=13, color=ink.soft),
        sample.mark_rule(color=ink.gold, strokeWidth=2.5, strokeDash=[3, 3]).encode(
            x=_across("x"), x2="end:Q", y=_up("head_y")
        ),
        figure(wide, "big", alt.ExprRef("height < 450 ? 30 : 38")),
        figure(wide, "small", 15),
        figure(narrow, "line", 18),
        aside("window", "edge_y", 4, ink.scale, 600),
        aside("follows", "edge_y", 24, ink.soft),
        aside("moves", "edge_y", 44, ink.text, 600),
        aside("back", "back_y", 0, ink.soft),
        aside("length", "back_y", 20, ink.soft),
    ]


def _rail() -> alt.Chart:
    base = (
        alt.Chart(alt.NamedData(POSITIONS))
        .transform_filter("datum.panel == 0")
        .transform_calculate(x=_at("datum.i"), y=_height("datum.at"), words=text("words", "''"))
    )
    return rail(base, _across("x"), _up("y"))
