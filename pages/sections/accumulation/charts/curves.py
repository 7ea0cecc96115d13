"""Errors over K, a line a unit: of the size, or of the bias, whose sign says toward zero or away from it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from fp8core.accumulators.error_over_k import SumError
from pages.kit.charts.finish import Spec, finished, series_colors, series_shapes
from pages.kit.charts.ink import Ink

TALL, LEGEND_LINE, AROUND = 300, 26, 70
DASHES = {"captured": [1, 0], "published": [7, 3], "definition": [2, 3]}
LINEAR_BELOW = 1e-5
TICKS = [float(f"{digit}e{power}") for power in range(-12, 3) for digit in (1, 3)]
_LARGE = [tick for tick in TICKS if tick >= LINEAR_BELOW]
BIAS_TICKS = [*(-tick for tick in reversed(_LARGE)), 0.0, *_LARGE]


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


def curves_chart(curves: Sequence[Curve], field: str, ink: Ink, measured: Measured | None = None) -> Spec:
    """The errors `field` ("rms" or "bias") of every curve."""
    names = [_label(curve) for curve in curves]
    rows = [
        {"unit": _label(curve), "evidence": curve.evidence, "k": e.k, "error": getattr(e, field)}
        for curve in reversed(curves)  # what is drawn last lies on top
        for e in curve.errors
    ]
    x = alt.X(
        "k:Q",
        title="K, products in the sum",
        scale=alt.Scale(type="log", base=2, nice=False, padding=8),
        axis=alt.Axis(values=[e.k for e in curves[0].errors], format=",d", grid=False, labelOverlap=True),
    )
    drawn = [row["error"] for row in rows] + [
        getattr(e, field) for e in (measured.points if measured else ())
    ]
    y = rms_axis("error", drawn) if field == "rms" else bias_axis("error", drawn)
    picked = alt.selection_point(name="picked", fields=["unit"], bind="legend")
    legend = alt.Legend(
        orient="bottom",
        direction="vertical",
        columns=1,
        labelLimit=420,
        labelColor=ink.text,
        symbolSize=90,
        symbolDash=[1, 0],
    )
    base = (
        alt.Chart(alt.Data(values=rows))
        .transform_filter("datum.error > 0" if field == "rms" else "isValid(datum.error)")
        .encode(
            x=x,
            y=y,
            color=alt.Color("unit:N", title=None, scale=series_colors(names, ink), legend=legend),
            opacity=alt.when(picked).then(alt.value(1)).otherwise(alt.value(0.12)),
        )
    )
    dash = alt.StrokeDash(
        "evidence:N",
        legend=None,
        scale=alt.Scale(domain=list(DASHES), range=list(DASHES.values())),
    )
    shape = alt.Shape("unit:N", title=None, scale=series_shapes(names), legend=legend)
    tooltip = [
        alt.Tooltip("unit:N", title="unit"),
        alt.Tooltip("k:Q", title="K", format=",d"),
        alt.Tooltip("error:Q", title="rms error" if field == "rms" else "signed error", format=".3~%"),
    ]
    lines = base.mark_line(strokeWidth=2, aria=False).encode(strokeDash=dash).add_params(picked)
    points = base.mark_point(size=60, filled=True).encode(shape=shape, tooltip=tooltip)
    layers = [lines, points]
    if field == "bias":
        layers.insert(0, alt.Chart(alt.Data(values=[{}])).mark_rule(color=ink.soft).encode(y=alt.datum(0)))
    if measured is not None:
        layers.append(_measured(measured, field, x, y, ink))
    chart = alt.layer(*layers).properties(height=TALL + AROUND + LEGEND_LINE * len(names))
    return finished(chart, ink)


def _label(curve: Curve) -> str:
    told = ", no error" if all(error.rms == 0 for error in curve.errors) else ""
    return f"{curve.name} ({curve.evidence}{told})"


def rms_axis(field: str, errors: Sequence[float]) -> alt.Y:
    """A logarithmic axis over whole decades around the errors that are not zero."""
    logs = [math.log10(error) for error in errors if error > 0]
    low, high = (math.floor(min(logs)), math.ceil(max(logs))) if logs else (-1, 0)
    return alt.Y(
        f"{field}:Q",
        title="rms error, relative",
        scale=alt.Scale(type="log", domain=[10.0**low, 10.0 ** max(high, low + 1)], nice=False),
        axis=alt.Axis(format="~%", values=TICKS, labelOverlap="greedy"),
    )


def bias_axis(field: str, errors: Sequence[float]) -> alt.Y:
    """An axis that is linear around zero and logarithmic beyond, from tick to tick around the errors."""
    least, most = min(*errors, -LINEAR_BELOW), max(*errors, 0.0)
    low = max((tick for tick in BIAS_TICKS if tick <= least), default=least)
    high = min((tick for tick in BIAS_TICKS if tick >= most), default=most)
    return alt.Y(
        f"{field}:Q",
        title="signed error: below 0 is toward zero",
        scale=alt.Scale(type="symlog", constant=LINEAR_BELOW, domain=[low, high], nice=False),
        axis=alt.Axis(labelExpr="format(datum.value, '~%')", values=BIAS_TICKS, labelOverlap="greedy"),
    )


def _measured(measured: Measured, field: str, x: alt.X, y: alt.Y, ink: Ink) -> alt.Chart:
    """Rings around the places where the device's errors lie."""
    rows = [{"k": e.k, "error": getattr(e, field), "who": measured.name} for e in measured.points]
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_point(shape="circle", size=260, filled=False, strokeWidth=2.5, color=ink.text, opacity=1)
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
