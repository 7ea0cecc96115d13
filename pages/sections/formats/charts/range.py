"""Range against precision: each format as a bar over exponents, and as a point."""

import math
from collections.abc import Mapping
from functools import lru_cache

import altair as alt

from fp8core.formats import Format
from fp8core.formats.binades import binade_runs, dynamic_range, finest_bits
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, by_column, number, several, template
from pages.kit.charts.words import power_of_two
from pages.sections.formats.charts.words import power_labels, power_or_number

_ROW_HEIGHT, _AXIS_HEIGHT = 21, 100
_POINTS_HEIGHT = 470
NARROWEST, WIDEST, EACH, START = 16, 152, 4, 40
REACH = "reach"
_NARROW, _WIDE, _BESIDE = 2.8, 420, 0.8
_TOGETHER = 0.12
_STACKED = 200
"""Binades from which formats stand above one another, with 8 exponent bits each: names go beside them."""
_KEPT = 64
BARS, POINTS = "bars", "points"
FULL, LESS = "full precision", "fewer mantissa bits"
Row = dict[str, object]


def bar_rows(formats: Mapping[str, Format]) -> list[Row]:
    """One row a run of binades with equal precision."""
    return [row for title, format_ in formats.items() for row in _bars_of(title, format_)]


@lru_cache(maxsize=_KEPT)
def _bars_of(title: str, format_: Format) -> tuple[Row, ...]:
    finest = finest_bits(format_)
    return tuple(
        {
            "format": label(title, format_),
            "low": float(run.low),
            "high": min(run.high, math.log2(format_.max)) if format_.max > 2.0**run.low else float(run.high),
            "bits": run.bits,
            "part": FULL if run.bits == finest else LESS,
            "depth": 1.0 if run.bits == finest else 0.25 + 0.5 * run.bits / finest,
            "span": f"{power_of_two(run.low)} to {power_or_number(min(2.0**run.high, format_.max))}",
            "step": f"{power_of_two(-run.bits)} of the binade's start",
            "ulp": power_of_two(run.low - run.bits)
            + ("" if run.high - run.low == 1 else f" to {power_of_two(run.high - 1 - run.bits)}"),
        }
        for run in binade_runs(format_)
    )


def label(title: str, format_: Format) -> str:
    """The format with its relative step."""
    return f"{title}  {power_of_two(-finest_bits(format_))}"


def range_bars(formats: Mapping[str, Format], ink: Ink) -> Filled:
    """The bars, widest range first. The reader drags the limits of the axis."""
    order = sorted(formats, key=lambda title: -dynamic_range(formats[title]))
    return _bars(ink).filled(
        {BARS: by_column(bar_rows(formats))},
        lines=[label(title, formats[title]) for title in order],
        height=len(formats) * _ROW_HEIGHT + _AXIS_HEIGHT,
    )


@template
def _bars(ink: Ink) -> alt.Chart:
    reach = alt.param(
        name=REACH,
        value=START,
        bind=alt.binding_range(min=NARROWEST, max=WIDEST, step=EACH, name="Exponents shown: up to ± "),
    )
    scale = alt.Scale(domain=alt.ExprRef("[-reach, reach]"), nice=False)
    axis = alt.Axis(labelExpr=power_labels("datum.value"), grid=True, labelOverlap=True, tickCount=9)
    base = alt.Chart(alt.NamedData(BARS), height=number("height", 400))
    bars = base.mark_bar(clip=True, height=14, stroke=ink.page, strokeWidth=0.7).encode(
        x=alt.X("low:Q", scale=scale, axis=axis, title="size of the value"),
        x2="high:Q",
        y=alt.Y(
            "format:N",
            title=None,
            scale=alt.Scale(domain=several("lines", ["E4M3"])),
            axis=alt.Axis(labelLimit=190, labelOverlap=False, domain=False, ticks=False),
        ),
        color=alt.Color(
            "part:N",
            title=None,
            scale=alt.Scale(domain=[FULL, LESS], range=[ink.dot, ink.mid]),
            legend=alt.Legend(orient="top", labelColor=ink.text, labelLimit=320, columns=2),
        ),
        opacity=alt.Opacity("depth:Q", scale=None, legend=None),
        tooltip=[
            alt.Tooltip("format:N", title="format, relative step"),
            alt.Tooltip("span:N", title="values from"),
            alt.Tooltip("bits:Q", title="mantissa bits"),
            alt.Tooltip("step:N", title="relative step"),
            alt.Tooltip("ulp:N", title="ulp"),
        ],
    )
    return bars.add_params(reach).configure_axis(
        labelColor=ink.text, titleColor=ink.soft, titleFontWeight="normal", gridColor=ink.hair
    )


def has_range(format_: Format) -> bool:
    """True if the largest and the smallest positive value differ: a logarithmic axis has no place for 0."""
    return dynamic_range(format_) > 0


def point_rows(formats: Mapping[str, Format]) -> list[Row]:
    """One row a format that has a range. Formats at one point share the label of the first; its `label` is
    None in the others.
    """
    rows: list[Row] = []
    for title, format_ in formats.items():
        if not has_range(format_):
            continue
        rows.append(
            {
                "format": title,
                "bits": finest_bits(format_),
                "width": format_.bits,
                "range": round(dynamic_range(format_), 2),
                "label": None,
            }
        )
    named: list[tuple[Row, list[Row]]] = []
    for row in rows:
        for first, others in named:
            near = abs(math.log(float(str(row["range"])) / float(str(first["range"])))) < _TOGETHER
            if near and row["bits"] == first["bits"]:
                others.append(row)
                break
        else:
            named.append((row, []))
    for first, others in named:
        first["label"] = str(first["format"]) + (f" +{len(others)}" if others else "")
    return rows


def range_points(formats: Mapping[str, Format], ink: Ink) -> Filled:
    """Dynamic range against the finest relative step. More bits lie further up and to the right."""
    rows = point_rows(formats)
    narrowest = min((float(str(row["range"])) for row in rows), default=_NARROW) * _BESIDE
    return _points(ink).filled({POINTS: by_column(rows)}, narrowest=min(_NARROW, narrowest))


@template
def _points(ink: Ink) -> alt.LayerChart:
    base = alt.Chart(alt.NamedData(POINTS)).encode(
        x=alt.X(
            "range:Q",
            title="range: binades from the smallest to the largest positive value",
            scale=alt.Scale(type="log", domain=[number("narrowest", _NARROW), _WIDE], nice=False),
            axis=alt.Axis(values=[1, 2, 4, 8, 16, 32, 64, 128, 256], labelOverlap=True),
        ),
        y=alt.Y(
            "bits:Q",
            title="relative step, finer is higher",
            scale=alt.Scale(type="sqrt", domain=[0, 25], nice=False),
            axis=alt.Axis(labelExpr=power_labels("-datum.value"), values=[0, 1, 2, 3, 4, 6, 8, 10, 13, 23]),
        ),
    )
    widths = [4, 6, 8, 16, 32]
    points = base.mark_point(filled=True, opacity=1, color=ink.dot, stroke=ink.page).encode(
        size=alt.Size(
            "width:Q",
            title="bits per value",
            scale=alt.Scale(domain=[4, 32], range=[45, 420]),
            legend=alt.Legend(
                orient="bottom",
                direction="horizontal",
                values=widths,
                labelColor=ink.text,
                titleColor=ink.text,
            ),
        ),
        tooltip=[
            alt.Tooltip("format:N", title="format"),
            alt.Tooltip("width:Q", title="bits per value"),
            alt.Tooltip("range:Q", title="binades"),
            alt.Tooltip("bits:Q", title="mantissa bits"),
        ],
    )
    named = base.transform_filter("isValid(datum.label)")
    stacked, coarse = f"datum.range > {_STACKED}", "datum.bits > 0 && datum.bits < 3"
    names = [
        named.transform_filter(where)
        .mark_text(size=13, color=ink.text, aria=False, **place)
        .encode(text="label:N")
        for where, place in (
            (stacked, {"align": "right", "dx": -15}),
            (f"!({stacked}) && {coarse}", {"align": "center", "dy": 15}),
            (f"!({stacked}) && !({coarse})", {"align": "center", "dy": -15}),
        )
    ]
    return (
        alt.layer(points, *names)
        .properties(height=_POINTS_HEIGHT)
        .configure_axis(
            labelColor=ink.text, titleColor=ink.soft, titleFontWeight="normal", gridColor=ink.hair
        )
    )
