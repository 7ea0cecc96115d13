"""Errors over K, a line a unit: of the size, or of the bias, whose sign says toward zero or away from it.

Each unit's name stands at the end of its line. A click on it leaves that line alone.
"""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from fp8core.accumulators.error_over_k import SumError
from pages.kit.charts.finish import SHAPES, dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, number, several, template

LINES, RINGS, NAMES = "lines", "rings", "names"
_WIDE = "width >= 560"
_ASIDE, _NARROW = 286, 118
"""Pixels for the names at the right, on a wide and on a narrow page."""
_AROUND = 72
"""Pixels of the picture above and below its lines."""
_ROW, _LINE, _LETTERS = 22.0, 14.0, 15
"""Pixels of a name on a wide page and of a line of it on a narrow one, and the letters of such a line."""
DASHES = {"captured": [1, 0], "published": [7, 3], "definition": [2, 3]}
LINEAR_BELOW = 1e-5
TICKS = [float(f"{digit}e{power}") for power in range(-12, 3) for digit in (1, 3)]
_LARGE = [tick for tick in TICKS if tick >= LINEAR_BELOW]
BIAS_TICKS = [*(-tick for tick in reversed(_LARGE)), 0.0, *_LARGE]
RMS, BIAS = "rms", "bias"
ABOVE = {"titleAngle": 0, "titleAlign": "left", "titleAnchor": "end", "titleX": -62, "titleY": -16}
"""An axis at the left with its title above it."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One unit's errors; `evidence` is a key of DASHES."""

    name: str
    evidence: str
    errors: tuple[SumError, ...]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The errors that a device gave, with its name."""

    name: str
    points: tuple[SumError, ...]


def curves_chart(
    curves: Sequence[Curve], field: str, room: int, ink: Ink, measured: Measured | None = None
) -> Filled:
    """The errors `field` (RMS or BIAS) of every curve, in `room` pixels of height."""
    names = [_label(curve) for curve in curves]
    points = [
        (name, curve.evidence, error.k, getattr(error, field))
        for name, curve in reversed(list(zip(names, curves, strict=True)))  # what is drawn last lies on top
        for error in curve.errors
    ]
    datasets = {LINES: dict(zip(("unit", "evidence", "k", "error"), zip(*points, strict=True), strict=True))}
    drawn = list(datasets[LINES]["error"])
    if measured is not None:
        rings = [getattr(error, field) for error in measured.points]
        drawn += rings
        datasets[RINGS] = {
            "k": [error.k for error in measured.points],
            "error": rings,
            "who": [measured.name] * len(rings),
        }
    lengths = [error.k for error in curves[0].errors]
    domain = rms_domain(drawn) if field == RMS else bias_domain(drawn)
    datasets[NAMES] = _names(curves, field, domain, room - _AROUND)
    return _template(ink, field, measured is not None).filled(
        datasets,
        names=names,
        lengths=lengths,
        span=[lengths[0], lengths[-1]],
        errors=domain,
        height=room,
    )


@template
def _template(ink: Ink, field: str, has_rings: bool) -> alt.LayerChart:
    right = f"width - ({_WIDE} ? {_ASIDE} : {_NARROW})"
    x = alt.X(
        "k:Q",
        title="K, products in the sum",
        scale=alt.Scale(
            type="log",
            base=2,
            nice=False,
            padding=8,
            domain=several("span", [32.0, 64.0]),
            range=[0, alt.ExprRef(right)],
        ),
        axis=alt.Axis(
            values=several("lengths", [32.0]),
            format=",d",
            grid=False,
            labelOverlap=True,
            titleAnchor="start",
        ),
    )
    y = rms_axis("error", "errors") if field == RMS else bias_axis("error", "errors")
    picked = alt.selection_point(name="picked", fields=["unit"])
    names = several("names", ["one chain"])
    looks = {
        "color": alt.Color("unit:N", scale=alt.Scale(domain=names, range=list(ink.series)), legend=None),
        "opacity": alt.when(picked).then(alt.value(1)).otherwise(alt.value(0.12)),
    }
    shape = alt.Shape("unit:N", scale=alt.Scale(domain=names, range=list(SHAPES)), legend=None)
    base = (
        alt.Chart(alt.NamedData(LINES))
        .transform_filter("datum.error > 0" if field == RMS else "isValid(datum.error)")
        .encode(x=x, y=y, **looks)
    )
    dash = alt.StrokeDash(
        "evidence:N",
        legend=None,
        scale=alt.Scale(domain=list(DASHES), range=list(DASHES.values())),
    )
    tooltip = [
        alt.Tooltip("unit:N", title="unit"),
        alt.Tooltip("evidence:N", title="model"),
        alt.Tooltip("k:Q", title="K", format=",d"),
        alt.Tooltip("error:Q", title="rms error" if field == RMS else "signed error", format=".3~p"),
    ]
    lines = base.mark_line(strokeWidth=2.5, aria=False).encode(strokeDash=dash).add_params(picked)
    points = base.mark_point(size=60, filled=True).encode(shape=shape, tooltip=tooltip)
    layers = [*_aside(right, y, looks, shape, ink), lines, points]
    if field == BIAS:
        zero = alt.Chart(alt.Data(values=[{}])).mark_rule(color=ink.line)
        layers.insert(0, zero.encode(y=alt.datum(0), x=alt.value(0), x2=alt.value(alt.ExprRef(right))))
    if has_rings:
        layers.append(_rings(x, y, ink))
    return dressed(alt.layer(*layers, height=number("height", 400)), ink)


def _aside(
    right: str, y: alt.Y, looks: dict[str, Any], shape: alt.Shape, ink: Ink
) -> tuple[alt.Chart, alt.Chart, alt.Chart]:
    """The names at the ends of the lines, each after its mark, on paper without a grid."""
    paper = alt.Chart(alt.Data(values=[{}])).mark_rect(color=ink.page, aria=False)
    names = alt.Chart(alt.NamedData(NAMES)).transform_calculate(
        error=f"{_WIDE} ? datum.place : datum.narrow_place", told=f"{_WIDE} ? datum.unit : datum.narrow"
    )
    edge = alt.ExprRef(f"{right} + 10")
    return (
        paper.encode(x=alt.value(edge), x2=alt.value(alt.ExprRef("width"))),
        names.mark_point(size=70, filled=True, cursor="pointer").encode(
            x=alt.value(alt.ExprRef(f"{right} + 16")), y=y, shape=shape, **looks
        ),
        names.mark_text(
            align="left",
            baseline="middle",
            lineBreak="\n",
            lineHeight=_LINE,
            fontSize=alt.ExprRef(f"{_WIDE} ? 13 : 12"),
            dy=alt.ExprRef(f"{_WIDE} ? 0 : datum.rise"),
            color=ink.text,
            cursor="pointer",
        ).encode(x=alt.value(alt.ExprRef(f"{right} + 25")), y=y, text="told:N", opacity=looks["opacity"]),
    )


def _label(curve: Curve) -> str:
    return curve.name + (" (no error)" if all(error.rms == 0 for error in curve.errors) else "")


def _names(curves: Sequence[Curve], field: str, domain: Sequence[float], tall: float) -> dict[str, Any]:
    """The names with their places at the right, near the ends of their lines and none over another one."""
    units = [_label(curve) for curve in curves]
    narrow = [textwrap.wrap(unit, _LETTERS) for unit in units]
    ends = [next((v for e in reversed(c.errors) if (v := getattr(e, field))), domain[0]) for c in curves]
    if field == BIAS:
        ends = [getattr(curve.errors[-1], field) for curve in curves]
    low, high = (_scaled(end, field) for end in domain)
    wanted = [tall * (high - _scaled(end, field)) / (high - low) for end in ends]

    def places(sizes: Sequence[float]) -> list[float]:
        return [_unscaled(high - at / tall * (high - low), field) for at in spread(wanted, sizes, tall)]

    return {
        "unit": units,
        "place": places([_ROW] * len(units)),
        "narrow": ["\n".join(lines) for lines in narrow],
        "narrow_place": places([len(lines) * _LINE + 7 for lines in narrow]),
        "rise": [-_LINE / 2 * (len(lines) - 1) for lines in narrow],
    }


def spread(wanted: Sequence[float], sizes: Sequence[float], tall: float) -> list[float]:
    """Middles from 0 to `tall` as near as possible to the wanted ones, in their order, none over another."""
    found, top = [0.0] * len(wanted), 0.0
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    for index in order:
        found[index] = max(wanted[index], top + sizes[index] / 2)
        top = found[index] + sizes[index] / 2
    bottom = tall
    for index in reversed(order):
        found[index] = min(found[index], bottom - sizes[index] / 2)
        bottom = found[index] - sizes[index] / 2
    return found


def _scaled(error: float, field: str) -> float:
    """An error as its axis has it: a logarithm, or for a bias one that is linear around zero."""
    if field == RMS:
        return math.log(error)
    return math.copysign(math.log1p(abs(error) / LINEAR_BELOW), error)


def _unscaled(place: float, field: str) -> float:
    return math.exp(place) if field == RMS else math.copysign(math.expm1(abs(place)) * LINEAR_BELOW, place)


def rms_domain(errors: Sequence[float]) -> list[float]:
    """Whole decades around the errors that are not zero."""
    logs = [math.log10(error) for error in errors if error > 0]
    low, high = (math.floor(min(logs)), math.ceil(max(logs))) if logs else (-1, 0)
    return [10.0**low, 10.0 ** max(high, low + 1)]


def rms_axis(field: str, domain: str) -> alt.Y:
    """A logarithmic axis over the decades that are filled in for `domain`."""
    return alt.Y(
        f"{field}:Q",
        title="rms error, relative",
        scale=alt.Scale(type="log", domain=several(domain, [0.1, 1.0]), nice=False),
        axis=alt.Axis(format="~%", values=TICKS, labelOverlap="greedy", **ABOVE),
    )


def bias_domain(errors: Sequence[float]) -> list[float]:
    """From tick to tick around the errors."""
    least, most = min(*errors, -LINEAR_BELOW), max(*errors, 0.0)
    low = max((tick for tick in BIAS_TICKS if tick <= least), default=least)
    high = min((tick for tick in BIAS_TICKS if tick >= most), default=most)
    return [low, high]


def bias_axis(field: str, domain: str) -> alt.Y:
    """An axis that is linear around zero and logarithmic beyond; its ends are filled in for `domain`."""
    return alt.Y(
        f"{field}:Q",
        title="signed error: below 0 is toward zero",
        scale=alt.Scale(
            type="symlog", constant=LINEAR_BELOW, domain=several(domain, [-1.0, 1.0]), nice=False
        ),
        axis=alt.Axis(
            labelExpr="format(datum.value, '~%')", values=BIAS_TICKS, labelOverlap="greedy", **ABOVE
        ),
    )


def _rings(x: alt.X, y: alt.Y, ink: Ink) -> alt.Chart:
    """Rings around the places where the device's errors lie."""
    style: dict[str, Any] = {"shape": "circle", "size": 260, "filled": False, "strokeWidth": 2.5}
    return (
        alt.Chart(alt.NamedData(RINGS))
        .mark_point(**style, color=ink.text, opacity=1)
        .encode(
            x=x,
            y=y,
            tooltip=[
                alt.Tooltip("who:N", title="measured on"),
                alt.Tooltip("k:Q", title="K", format=",d"),
                alt.Tooltip("error:Q", title="error", format=".4~%"),
            ],
        )
    )
