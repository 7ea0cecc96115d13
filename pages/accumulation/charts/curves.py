"""Errors of sums over K, a line a unit, and over the interval of promotion, a line a kind of numbers.

A click on a unit's name leaves that line alone.
"""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from fp8core.accumulators.error_over_k import SumError, promotions_per_flop
from pages.kit.charts.curves import Series, curves
from pages.kit.charts.ink import Ink
from pages.kit.charts.parts import SHAPES, dressed, spread, tips
from pages.kit.charts.template import Filled, by_column, number, several, template, text

LINES, NAMES, PRICES = "lines", "names", "prices"
RMS, BIAS = "rms", "bias"
DASHES = {"captured": [1, 0], "published": [7, 3], "definition": [2, 3]}
LINEAR_BELOW = 1e-5
TICKS = [float(f"{digit}e{power}") for power in range(-12, 3) for digit in (1, 3)]
_LARGE = [tick for tick in TICKS if tick >= LINEAR_BELOW]
BIAS_TICKS = [*(-tick for tick in reversed(_LARGE)), 0.0, *_LARGE]
_WIDE = "width >= 560"
# The end of the lines: the names follow, in less room on a narrow page.
_RIGHT = f"width - ({_WIDE} ? 286 : 118)"
_AROUND = 72  # pixels of the picture above and below its lines
# Pixels of a name on a wide page and of a line of it on a narrow one, and the letters of such a line.
_ROW, _LINE, _LETTERS = 22.0, 14.0, 15


@dataclass(frozen=True, kw_only=True)
class Curve:
    name: str
    evidence: str
    errors: tuple[SumError, ...]

    @property
    def label(self) -> str:
        return self.name + (" (no error)" if all(error.rms == 0 for error in self.errors) else "")


def curves_chart(curves: Sequence[Curve], field: str, room: int, ink: Ink) -> Filled:
    """Errors `field` (RMS or BIAS) over K."""
    points = [
        (curve.label, curve.evidence, error.k, getattr(error, field))
        for curve in reversed(curves)  # the last line lies on top
        for error in curve.errors
    ]
    lines = dict(zip(("unit", "evidence", "k", "error"), zip(*points, strict=True), strict=True))
    domain = rms_domain(lines["error"]) if field == RMS else bias_domain(lines["error"])
    lengths = [error.k for error in curves[0].errors]
    return _curves(ink, field).filled(
        {LINES: lines, NAMES: _names(curves, field, domain, room - _AROUND)},
        names=[curve.label for curve in curves],
        lengths=lengths,
        span=[lengths[0], lengths[-1]],
        errors=domain,
        height=room,
    )


def _names(curves: Sequence[Curve], field: str, domain: Sequence[float], tall: float) -> dict[str, Any]:
    """Places of the names at the lines' ends: shares of the height, without overlap."""
    low, high = (scaled(end, field) for end in domain)
    ends = [tall * (high - scaled(_end(curve, field, domain), field)) / (high - low) for curve in curves]
    narrow = [textwrap.wrap(curve.label, _LETTERS) for curve in curves]
    sizes = {"place": [_ROW] * len(curves), "narrow_place": [len(lines) * _LINE + 7 for lines in narrow]}
    return {
        "unit": [curve.label for curve in curves],
        "narrow": ["\n".join(lines) for lines in narrow],
        "rise": [-_LINE / 2 * (len(lines) - 1) for lines in narrow],
        **{name: [middle / tall for middle in spread(ends, every, tall)] for name, every in sizes.items()},
    }


def _end(curve: Curve, field: str, domain: Sequence[float]) -> float:
    """The error at the end of a line; on a logarithmic axis the last one above 0."""
    errors = [getattr(error, field) for error in reversed(curve.errors)]
    return errors[0] if field == BIAS else next(filter(None, errors), domain[0])


def scaled(error: float, field: str) -> float:
    if field == RMS:
        return math.log(error)
    return math.copysign(math.log1p(abs(error) / LINEAR_BELOW), error)


@template
def _curves(ink: Ink, field: str) -> alt.LayerChart:
    lengths = several("lengths", [32.0])
    x = alt.X(
        "k:Q",
        title="K, products in the sum",
        scale=_doublings(padding=8, range=[0, alt.ExprRef(_RIGHT)]),
        axis=alt.Axis(values=lengths, format=",d", grid=False, labelOverlap=True, titleAnchor="start"),
    )
    y = _error_axis(field)
    pick = alt.selection_point(name="picked", fields=["unit"])
    names = several("names", ["one chain"])
    looks = {
        "color": alt.Color("unit:N", scale=alt.Scale(domain=names, range=list(ink.series)), legend=None),
        "opacity": alt.when(pick).then(alt.value(1)).otherwise(alt.value(0.12)),
    }
    shape = alt.Shape("unit:N", scale=alt.Scale(domain=names, range=list(SHAPES)), legend=None)
    has_place = "datum.error > 0" if field == RMS else "isValid(datum.error)"
    base = alt.Chart(alt.NamedData(LINES)).transform_filter(has_place).encode(x=x, y=y, **looks)
    dashes = alt.Scale(domain=list(DASHES), range=list(DASHES.values()))
    tooltip = tips(
        ("unit:N", "unit"),
        ("evidence:N", "model"),
        ("k:Q", "K", ",d"),
        ("error:Q", "rms error" if field == RMS else "signed error", ".3~p"),
    )
    layers = [
        *_aside(looks, shape, pick, ink),
        base.mark_line(strokeWidth=2.5).encode(
            strokeDash=alt.StrokeDash("evidence:N", legend=None, scale=dashes)
        ),
        base.mark_point(size=60, filled=True).encode(shape=shape, tooltip=tooltip),
    ]
    if field == BIAS:
        zero = alt.Chart(alt.Data(values=[{}])).mark_rule(color=ink.line)
        layers.insert(0, zero.encode(y=alt.datum(0), x=alt.value(0), x2=alt.value(alt.ExprRef(_RIGHT))))
    return dressed(alt.layer(*layers, height=number("height", 400)), ink)


def _aside(looks: dict[str, Any], shape: alt.Shape, pick: alt.Parameter, ink: Ink) -> list[alt.Chart]:
    """The names at the lines' ends. Vega reports clicks only on the layer that has the selection."""

    def after(pixels: int) -> Any:
        return alt.value(alt.ExprRef(f"{_RIGHT} + {pixels}"))

    paper = alt.Chart(alt.Data(values=[{}])).mark_rect(color=ink.page)
    names = alt.Chart(alt.NamedData(NAMES)).transform_calculate(words=f"{_WIDE} ? datum.unit : datum.narrow")
    y = alt.value(alt.ExprRef(f"height * ({_WIDE} ? datum.place : datum.narrow_place)"))
    words = names.mark_text(
        align="left",
        baseline="middle",
        lineBreak="\n",
        lineHeight=_LINE,
        fontSize=alt.ExprRef(f"{_WIDE} ? 13 : 12"),
        dy=alt.ExprRef(f"{_WIDE} ? 0 : datum.rise"),
        color=ink.text,
        cursor="pointer",
    )
    return [
        paper.encode(x=after(10), x2=alt.value(alt.ExprRef("width"))),
        names.mark_point(size=70, filled=True, cursor="pointer").encode(
            x=after(16), y=y, shape=shape, **looks
        ),
        words.encode(x=after(25), y=y, text="words:N", opacity=looks["opacity"]).add_params(pick),
    ]


def _doublings(**more: Any) -> alt.Scale:
    return alt.Scale(type="log", base=2, nice=False, domain=several("span", [32.0, 64.0]), **more)


def rms_domain(errors: Sequence[float]) -> list[float]:
    """Whole decades around the errors above zero."""
    logs = [math.log10(error) for error in errors if error > 0]
    low, high = (math.floor(min(logs)), math.ceil(max(logs))) if logs else (-1, 0)
    return [10.0**low, 10.0 ** max(high, low + 1)]


def bias_domain(errors: Sequence[float]) -> list[float]:
    least, most = min(*errors, -LINEAR_BELOW), max(*errors, 0.0)
    low = max((tick for tick in BIAS_TICKS if tick <= least), default=least)
    high = min((tick for tick in BIAS_TICKS if tick >= most), default=most)
    return [low, high]


def _error_axis(field: str) -> alt.Y:
    is_rms = field == RMS
    kind = {"type": "log"} if is_rms else {"type": "symlog", "constant": LINEAR_BELOW}
    return alt.Y(
        "error:Q",
        title="rms error, relative" if is_rms else "signed error: below 0 is toward zero",
        scale=alt.Scale(domain=several("errors", [0.1, 1.0]), nice=False, **kind),
        axis=alt.Axis(
            labelExpr="format(datum.value, '~%')",
            values=TICKS if is_rms else BIAS_TICKS,
            labelOverlap="greedy",
            titleAngle=0,
            titleAlign="left",
            titleAnchor="end",
            titleX=-62,
            titleY=-16,
        ),
    )


def cost_chart(
    intervals: Sequence[int], errors: Mapping[str, Sequence[float]], room: int, ink: Ink
) -> Filled:
    """The rms errors over the interval of promotion. The last interval is K: one chain."""
    last = intervals[-1]
    prices = [
        {
            "numbers": kind,
            "every": every,
            "label": "never: one chain" if every == last else f"{every:,} products",
            "error": error,
            "additions": 1000 * promotions_per_flop(every),
            "is_last": every == last,
        }
        for kind, each in errors.items()
        for every, error in zip(intervals, each, strict=True)
    ]
    return _prices(ink).filled(
        {PRICES: by_column(prices)},
        kinds=list(errors),
        intervals=list(intervals),
        span=[intervals[0], last],
        never=f"datum.value == {last} ? 'never' : format(datum.value, ',d')",
        errors=rms_domain([price["error"] for price in prices]),
        height=room,
    )


@template
def _prices(ink: Ink) -> alt.LayerChart:
    kinds = several("kinds", ["Same sign", "Zero mean"])
    base = alt.Chart(alt.NamedData(PRICES)).encode(
        x=alt.X(
            "every:Q",
            title="promoted after so many products",
            scale=_doublings(padding=12),
            axis=alt.Axis(values=several("intervals", [32.0]), labelExpr=text("never", "1"), grid=False),
        ),
        y=_error_axis(RMS),
    )
    series = Series(names=kinds, colors=[ink.text, ink.mid], shapes=["circle", "square"], field="numbers")
    tooltip = tips(
        ("numbers:N", "numbers"),
        ("label:N", "promoted after"),
        ("error:Q", "rms error", ".3~%"),
        ("additions:Q", "additions in 1000 FLOP", ".3~g"),
    )
    names = base.transform_filter("datum.is_last").mark_text(
        align="right", dx=-14, dy=-14, fontSize=15, fontWeight="bold", color=ink.text
    )
    layers = [*curves(base, series, tooltip, size=110), names.encode(text="numbers:N")]
    return dressed(alt.layer(*layers, height=number("height", 500)), ink)
