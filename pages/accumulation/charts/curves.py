"""Errors over K, a line a unit: of the size, or of the bias, whose sign says toward zero or away from it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from fp8core.accumulators.error_over_k import SumError
from pages.kit.charts.finish import SHAPES, dressed
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, number, several, template

LINES, RINGS = "lines", "rings"
_LONG_NAME = "Hopper FP8 unpacked to fp16, mma.sync (captured)"
DASHES = {"captured": [1, 0], "published": [7, 3], "definition": [2, 3]}
LINEAR_BELOW = 1e-5
TICKS = [float(f"{digit}e{power}") for power in range(-12, 3) for digit in (1, 3)]
_LARGE = [tick for tick in TICKS if tick >= LINEAR_BELOW]
BIAS_TICKS = [*(-tick for tick in reversed(_LARGE)), 0.0, *_LARGE]
RMS, BIAS = "rms", "bias"


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
    return _template(ink, field, measured is not None).filled(
        datasets,
        names=names,
        lengths=lengths,
        span=[lengths[0], lengths[-1]],
        errors=rms_domain(drawn) if field == RMS else bias_domain(drawn),
        height=room,
    )


@template
def _template(ink: Ink, field: str, has_rings: bool) -> alt.LayerChart:
    x = alt.X(
        "k:Q",
        title="K, products in the sum",
        scale=alt.Scale(type="log", base=2, nice=False, padding=8, domain=several("span", [32.0, 64.0])),
        axis=alt.Axis(values=several("lengths", [32.0]), format=",d", grid=False, labelOverlap=True),
    )
    y = rms_axis("error", "errors") if field == RMS else bias_axis("error", "errors")
    picked = alt.selection_point(name="picked", fields=["unit"], bind="legend")
    legend = alt.Legend(
        orient="bottom",
        columns=3,
        labelLimit=420,
        labelColor=ink.text,
        symbolSize=90,
        symbolDash=[1, 0],
    )
    colors = alt.Scale(domain=several("names", [_LONG_NAME]), range=list(ink.series))
    shapes = alt.Scale(domain=several("names", [_LONG_NAME]), range=list(SHAPES))
    base = (
        alt.Chart(alt.NamedData(LINES))
        .transform_filter("datum.error > 0" if field == RMS else "isValid(datum.error)")
        .encode(
            x=x,
            y=y,
            color=alt.Color("unit:N", title=None, scale=colors, legend=legend),
            opacity=alt.when(picked).then(alt.value(1)).otherwise(alt.value(0.12)),
        )
    )
    dash = alt.StrokeDash(
        "evidence:N",
        legend=None,
        scale=alt.Scale(domain=list(DASHES), range=list(DASHES.values())),
    )
    tooltip = [
        alt.Tooltip("unit:N", title="unit"),
        alt.Tooltip("k:Q", title="K", format=",d"),
        alt.Tooltip("error:Q", title="rms error" if field == RMS else "signed error", format=".3~p"),
    ]
    lines = base.mark_line(strokeWidth=2.5, aria=False).encode(strokeDash=dash).add_params(picked)
    points = base.mark_point(size=60, filled=True).encode(
        shape=alt.Shape("unit:N", title=None, scale=shapes, legend=legend), tooltip=tooltip
    )
    layers = [lines, points]
    if field == BIAS:
        layers.insert(0, alt.Chart(alt.Data(values=[{}])).mark_rule(color=ink.line).encode(y=alt.datum(0)))
    if has_rings:
        layers.append(_rings(x, y, ink))
    return dressed(alt.layer(*layers, height=number("height", 400)), ink)


def _label(curve: Curve) -> str:
    told = ", no error" if all(error.rms == 0 for error in curve.errors) else ""
    return f"{curve.name} ({curve.evidence}{told})"


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
        axis=alt.Axis(format="~%", values=TICKS, labelOverlap="greedy"),
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
        axis=alt.Axis(labelExpr="format(datum.value, '~%')", values=BIAS_TICKS, labelOverlap="greedy"),
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
