"""One vector before and after a rotation, as stems, and the entries of many vectors, as histograms.

An entry is linear in the outlier's magnitude: `rest + magnitude · slope`. So the browser draws every position
of the slider inside the stems' picture by itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from fp8core.formats.binades import mantissa_bits
from fp8core.recipes import OperandSpec
from fp8core.scales import Fit
from pages.kit.charts.finish import END, ROOM, inside_axis, panel_title
from pages.kit.charts.finish import panels as below_one_another
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Columns, Filled, number, several, template, text

OUTLIER = "outlier"
MAGNITUDE = "magnitude"
PANELS = ("before", "after")
STEMS_HEIGHT, BARS_HEIGHT, BINS = 165, 120, 96
# Pixels of a line of a panel's title, and of a letter of it.
_TITLE_LINE, _LETTER = 15, 7.5
_MOST_WITH_HEADS = 256
_EPSILON = 1e-9


def vector_picture(
    panels: Mapping[str, Columns], spec: OperandSpec, start: int, limits: tuple[int, int], ink: Ink
) -> Filled:
    """A panel for each of PANELS on one vertical axis; the slider runs over `limits` from `start`.

    Columns are an entry's number `i`, its `tile`, `rest`, `slope`, and whether it is an `outlier`.
    """
    size, element = len(panels[PANELS[0]]["i"]), spec.format
    return _picture(limits, ink).filled(
        panels,
        start=start,
        # Room at the left for the vertical axis. Labels outside would widen the picture.
        across=[-0.5 - ROOM * size, size - 0.5],
        ticks=list(range(0, size, max(1, size // 16))),
        right=f"{size - 0.5}",
        value=f"datum.rest + (isValid({OUTLIER}.{MAGNITUDE}) ? {OUTLIER}.{MAGNITUDE}[0] : {start}) * "
        "datum.slope",
        half=f"({scale_expr(spec, 'datum.amax')}) * {element.min_subnormal / 2}",
        dead="datum.dead + (datum.dead == 1 ? ' becomes' : ' become') + ' zero in "
        + element.name
        + " (hollow)' + (datum.blank > 0 ? ', ' + datum.blank + ' of them zero already' : '')",
        width=2 if size <= _MOST_WITH_HEADS else 1,
        area=60 if size <= _MOST_WITH_HEADS // 4 else 20,
        heads="true" if size <= _MOST_WITH_HEADS else "false",
    )


@template
def _picture(limits: tuple[int, int], ink: Ink) -> alt.VConcatChart:
    slider = alt.selection_point(
        name=OUTLIER,
        fields=[MAGNITUDE],
        value=[{MAGNITUDE: number("start", 1)}],
        bind=alt.binding_range(min=limits[0], max=limits[1], step=1, name="Outlier's magnitude "),
    )
    charts = [_panel(name, ink) for name in PANELS]
    charts[0] = charts[0].add_params(slider)
    return below_one_another(charts, ink, spacing=20).resolve_scale(y="shared")


def _across() -> alt.Scale:
    return alt.Scale(domain=several("across", [0.0, 1.0]), nice=False)


def scale_expr(spec: OperandSpec, amax: str) -> str:
    """A Vega expression for the scale of a tile with amax > 0, by the rules of `fp8core.scales`."""
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


def _panel(name: str, ink: Ink) -> alt.LayerChart:
    last = name == PANELS[-1]
    x = alt.X(
        "i:Q",
        scale=_across(),
        axis=alt.Axis(
            title="element" if last else None, labels=last, grid=False, values=several("ticks", [0])
        ),
    )
    base = (
        alt.Chart(alt.NamedData(name))
        .transform_calculate(value=text("value", "datum.rest"))
        .transform_calculate(size="abs(datum.value)")
        .transform_joinaggregate(amax="max(size)", groupby=["tile"])
        .transform_calculate(half=text("half", "datum.amax"))
        .transform_calculate(zero="datum.size <= datum.half")
        .transform_calculate(
            verdict="datum.zero ? 'becomes 0' : 'stays above 0'",
            kind="datum.zero ? 'becomes 0' : datum.outlier ? 'outlier' : 'entry'",
        )
    )
    return alt.layer(
        _deadzone(base, ink),
        _amax_lines(base, ink),
        *_stems(base, x, ink),
        *_words(base, name.capitalize(), ink),
        height=STEMS_HEIGHT,
    )


def _stems(base: alt.Chart, x: alt.X, ink: Ink) -> list[alt.Chart]:
    kinds = ["outlier", "entry", "becomes 0"]

    def look(*values: str) -> dict[str, Any]:
        return {"legend": None, "scale": alt.Scale(domain=kinds, range=list(values))}

    encoding = {
        "x": x,
        "y": alt.Y("value:Q", axis=inside_axis(tickCount=5)),
        "color": alt.Color("kind:N", **look(ink.gold, ink.dot, ink.lost)),
        "tooltip": [
            alt.Tooltip("i:Q", title="element"),
            alt.Tooltip("value:Q", title="value", format=".4~g"),
            alt.Tooltip("amax:Q", title="largest |x| of its tile", format=".4~g"),
            alt.Tooltip("half:Q", title="zero up to", format=".3~g"),
            alt.Tooltip("verdict:N", title="quantized"),
        ],
    }
    stems = base.mark_rule(strokeWidth=number("width", 2)).encode(**encoding, y2=alt.Y2(datum=0))
    # A number that becomes 0 is hollow.
    heads = (
        base.transform_filter(text("heads", "true"))
        .mark_point(size=number("area", 60), opacity=1)
        .encode(
            **encoding,
            shape=alt.Shape("kind:N", **look("diamond", "circle", "circle")),
            fill=alt.Fill("kind:N", **look(ink.gold, ink.dot, ink.page)),
        )
    )
    return [stems, heads]


def _deadzone(base: alt.Chart, ink: Ink) -> alt.Chart:
    return (
        base.transform_aggregate(half="max(half)", first="min(i)", final="max(i)", groupby=["tile"])
        .transform_calculate(
            left="datum.first - 0.5", right="datum.final + 0.5", low="-datum.half", high="datum.half"
        )
        .mark_rect(color=ink.lost_area)
        .encode(
            x=alt.X("left:Q", scale=_across()),
            x2="right:Q",
            y="low:Q",
            y2="high:Q",
            tooltip=[
                alt.Tooltip("half:Q", title="rounds to zero up to |x| =", format=".4~g"),
            ],
        )
    )


def _amax_lines(base: alt.Chart, ink: Ink) -> alt.Chart:
    return (
        base.transform_aggregate(top="max(size)")
        .transform_calculate(ends="[datum.top, -datum.top]", left="-0.5", right=text("right", "0.5"))
        .transform_flatten(["ends"])
        .mark_rule(strokeWidth=2, color=ink.scale)
        .encode(x=alt.X("left:Q", scale=_across()), x2="right:Q", y="ends:Q")
    )


def _words(base: alt.Chart, title: str, ink: Ink) -> list[alt.Chart]:
    """The panel's title, in one line or, where that is too long, in two above the axis' first number."""
    words = (
        base.transform_calculate(blank="datum.size == 0")
        .transform_aggregate(top="max(size)", dead="sum(zero)", blank="sum(blank)")
        .transform_calculate(dead=text("dead", "datum.dead"))
        .transform_calculate(largest=f"'{title}: largest |x| ' + format(datum.top, '.3~f')")
        .transform_calculate(long=f"containerSize()[0] < length(datum.largest + datum.dead) * {_LETTER}")
    )
    lines = {
        1: words.transform_filter("!datum.long").transform_calculate(
            text="datum.largest + ' · ' + datum.dead"
        ),
        2: words.transform_filter("datum.long").transform_calculate(text="[datum.largest, datum.dead]"),
    }
    return [
        chart.mark_text(
            align="left",
            baseline="line-bottom",
            fontSize=13,
            lineHeight=_TITLE_LINE,
            fontWeight="bold",
            color=ink.text,
            dy=-1 - _TITLE_LINE * count,
        ).encode(x=alt.value(0), y=alt.value(0), text="text:N")
        for count, chart in lines.items()
    ]


@dataclass(frozen=True, kw_only=True)
class Entries:
    """Entries of many vectors, and their density at `at`, from 0 on, and at -`at`, where it is known."""

    values: NDArray[np.float64]
    at: NDArray[np.float64]
    density: NDArray[np.float64] | None


def bar_columns(entries: Entries, reach: float) -> Columns:
    counts, edges = np.histogram(entries.values, BINS, (-reach, reach))
    share = counts / entries.values.size
    full = counts > 0
    return {
        "from": edges[:-1][full],
        "to": edges[1:][full],
        "share": share[full],
        "density": (share / (edges[1] - edges[0]))[full],
    }


def line_columns(entries: Entries) -> Columns:
    if entries.density is None:
        return {"from": entries.at[:0], "density": entries.at[:0]}
    both = ((-entries.at[:0:-1], entries.at), (entries.density[:0:-1], entries.density))
    return {name: np.concatenate(sides) for name, sides in zip(("from", "density"), both, strict=True)}


def histograms(panels: Mapping[str, Entries], reach: float, ink: Ink) -> Filled:
    data = {f"bars{i}": bar_columns(entries, reach) for i, entries in enumerate(panels.values())}
    data |= {f"line{i}": line_columns(entries) for i, entries in enumerate(panels.values())}
    # Room for half a label at either end.
    far = (1 + END) * reach
    tops = {
        f"heights{i}": [0.0, max(data[f"{part}{i}"]["density"].max(initial=0.0) for part in ("bars", "line"))]
        for i in range(len(panels))
    }
    return _histograms(tuple(panels), ink).filled(data, ends=[-far, far], **tops)


@template
def _histograms(titles: tuple[str, ...], ink: Ink) -> alt.VConcatChart:
    charts = [_bars(i, title, ink, last=title == titles[-1]) for i, title in enumerate(titles)]
    return below_one_another(charts, ink, spacing=30)


def _bars(number: int, name: str, ink: Ink, *, last: bool) -> alt.LayerChart:
    x = alt.X(
        "from:Q",
        scale=alt.Scale(domain=several("ends", [-1.0, 1.0]), nice=False),
        axis=alt.Axis(title="value of an entry", grid=False) if last else None,
    )
    heights = alt.Scale(domain=several(f"heights{number}", [0.0, 1.0]))
    y = alt.Y("density:Q", axis=None, scale=heights)
    bars = (
        alt.Chart(alt.NamedData(f"bars{number}"))
        .mark_rect(color=ink.line, stroke=ink.page, strokeWidth=0.5)
        .encode(
            x=x,
            x2="to:Q",
            y=y,
            y2=alt.Y2(datum=0),
            tooltip=[
                alt.Tooltip("from:Q", title="from", format=".4~g"),
                alt.Tooltip("to:Q", title="to", format=".4~g"),
                alt.Tooltip("share:Q", title="share of entries", format=".3~%"),
            ],
        )
    )
    density = (
        alt.Chart(alt.NamedData(f"line{number}")).mark_line(color=ink.text, strokeWidth=2).encode(x=x, y=y)
    )
    return alt.layer(bars, density, height=BARS_HEIGHT, title=panel_title(name, ink))
