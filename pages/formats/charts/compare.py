"""Several formats below one another: a tick a value, or a bar a power of two."""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import altair as alt

from fp8core.formats import Format
from fp8core.formats.binades import binade_runs
from pages.formats.charts.words import hexadecimal, number
from pages.kit.charts.curves import Series, curves
from pages.kit.charts.ink import Ink
from pages.kit.charts.parts import SHAPES, dressed, halo, tips
from pages.kit.charts.template import Filled, by_column, several, template
from pages.kit.charts.template import number as number_hole
from pages.kit.charts.words import count, power_labels, power_of_two

_TICKED_BITS = 8
_AXIS_HEIGHT, _LOWEST_ROW = 60, 18
# A tick's share of its row, and the most pixels of one.
_OF_ROW, _TALLEST = 0.62, 40
LOWEST, HIGHEST, START = -4, 10, 3
TOP = "top"
VALUES, BINADES, NAMES, SPLITS = "values", "binades", "names", "splits"
# Of a row of bars: the highest one, and the format's name above.
_FILL, _HEAD = 0.64, 0.26
_LEAST_ROW = 44
Row = dict[str, object]


@lru_cache(maxsize=64)
def _rows(title: str, format_: Format) -> tuple[Row, ...]:
    """A row a positive value, `x2` NaN. More than 2^8 codes are one row from `x` to `x2`."""
    if format_.bits > _TICKED_BITS:
        text = f"{number(format_.min_subnormal, 4)} to {number(format_.max, 6)}"
        ends = {"x": format_.min_subnormal, "x2": format_.max}
        return ({"format": title, **ends, "text": text, "code": f"2^{format_.bits} codes"},)
    return tuple(
        {
            "format": title,
            "x": value,
            "x2": math.nan,
            "text": number(value),
            "code": hexadecimal(code, format_),
        }
        for code, value in enumerate(format_.values.tolist())
        if value > 0 and math.isfinite(value)
    )


@lru_cache(maxsize=64)
def binade_counts(format_: Format) -> dict[int, int]:
    """The number of values from 2^e up to 2^(e + 1), by e."""
    counts = {e: 1 << run.bits for run in binade_runs(format_) for e in range(run.low, run.high)}
    start = 2.0**format_.e_max
    counts[format_.e_max] = 1 + int((format_.max - start) / format_.ulp(start)) if format_.max > start else 1
    return counts


def count_chart(formats: Mapping[str, Format], room: int, ink: Ink) -> Filled:
    """A bar a power of two, one step higher for twice as many values."""
    counts = {title: binade_counts(format_) for title, format_ in formats.items()}
    most = {title: max(its.values()) for title, its in counts.items()}
    unit = _FILL / (1 + math.log2(max(most.values())))
    low, high = (end(end(its) for its in counts.values()) for end in (min, max))
    bars: list[Row] = [
        {"format": title, "x0": 2.0**exponent, "x1": 2.0 ** (exponent + 1)}
        | {"y0": line + 1.0, "y1": line + 1 - unit * (1 + math.log2(numbers))}
        | {"count": numbers, "most": numbers == most[title], "wide": 1 / (high + 1 - low)}
        | {"from": power_of_two(exponent)}
        for line, (title, its) in enumerate(counts.items())
        for exponent, numbers in its.items()
    ]
    names = {
        "y": [line + _HEAD / 2 for line in range(len(counts))],
        "floor": list(range(1, len(counts) + 1)),
        "words": [f"{title}: {per_power(format_)}" for title, format_ in formats.items()],
    }
    return _counts(ink).filled(
        {BINADES: by_column(bars), NAMES: names},
        ends=[2.0**low, 2.0 ** (high + 1)],
        lines=len(counts),
        height=max(room, len(counts) * _LEAST_ROW + _AXIS_HEIGHT),
    )


def per_power(format_: Format) -> str:
    counts = binade_counts(format_)
    return f"{count(len(counts), 'power')} of two, up to {max(counts.values()):,} numbers in each"


@template
def _counts(ink: Ink) -> alt.LayerChart:
    y = {"scale": alt.Scale(domain=[0, number_hole("lines", 4)], reverse=True, nice=False), "axis": None}
    bars = alt.Chart(alt.NamedData(BINADES)).encode(x=_powers("x0:Q"))
    names = alt.Chart(alt.NamedData(NAMES))
    return (
        alt.layer(
            names.mark_rule(color=ink.line).encode(y=alt.Y("floor:Q", **y)),
            bars.mark_rect(stroke=ink.page, strokeWidth=0.8).encode(
                x2="x1:Q",
                y=alt.Y("y0:Q", **y),
                y2="y1:Q",
                fill=alt.when("datum.most").then(alt.value(ink.dot)).otherwise(alt.value(ink.mid)),
                tooltip=tips(
                    ("format:N", "format"), ("from:N", "from the power of two"), ("count:Q", "numbers", ",")
                ),
            ),
            bars.transform_filter("datum.wide * containerSize()[0] > 8 * length('' + datum.count) + 4")
            .transform_calculate(middle="sqrt(datum.x0 * datum.x1)")
            .mark_text(baseline="bottom", dy=-1, fontSize=12, color=ink.soft)
            .encode(x=_powers("middle:Q"), y=alt.Y("y1:Q", **y), text="count:Q"),
            names.mark_text(
                align="left", baseline="middle", fontSize=14, fontWeight="bold", color=ink.text
            ).encode(x=alt.value(0), y=alt.Y("y:Q", **y), text="words:N"),
            height=number_hole("height", 480),
        )
        .configure_axis(labelColor=ink.text, titleColor=ink.soft, titleFontWeight="normal")
        .configure_view(stroke=None)
    )


def _powers(field: str) -> alt.X:
    return alt.X(
        field,
        scale=alt.Scale(type="log", base=2, nice=False, domain=several("ends", [1.0, 2.0])),
        axis=alt.Axis(
            labelExpr=power_labels("round(log(datum.value) / LN2)"), tickCount=9, grid=True, labelOverlap=True
        ),
        title="value (negative values mirror these)",
    )


def compare_chart(formats: Mapping[str, Format], logarithmic: bool, room: int, ink: Ink) -> Filled:
    """A tick a value, on a logarithmic axis or on a linear one whose end the reader drags."""
    height = max(room, len(formats) * _LOWEST_ROW + _AXIS_HEIGHT)
    row = (height - _AXIS_HEIGHT) / len(formats)
    low, high = min(f.min_subnormal for f in formats.values()), max(f.max for f in formats.values())
    return _chart(logarithmic, ink).filled(
        {VALUES: by_column([row for title, one in formats.items() for row in _rows(title, one)])},
        lines=list(formats),
        height=height,
        tall=min(row * _OF_ROW, _TALLEST),
        **({"ends": [low / 1.2, high * 1.2]} if logarithmic else {}),
    )


@template
def _chart(logarithmic: bool, ink: Ink) -> alt.LayerChart:
    x = _powers("x:Q")
    if not logarithmic:
        x = alt.X(
            "x:Q",
            scale=alt.Scale(domain=alt.ExprRef("[0, pow(2, top)]"), nice=False),
            axis=alt.Axis(grid=True, labelOverlap=True, format="~g"),
            title="value (negative values mirror these)",
        )
    y = alt.Y(
        "format:N",
        scale=alt.Scale(domain=several("lines", ["E4M3"])),
        title=None,
        axis=alt.Axis(labelLimit=150, domain=False, ticks=False, labelFontSize=14),
    )
    tooltip = tips(("format:N", "format"), ("text:N", "value"), ("code:N", "code"))
    base = alt.Chart(alt.NamedData(VALUES)).encode(y=y, tooltip=tooltip)
    bars = base.transform_filter("isValid(datum.x2)").mark_bar(
        height=number_hole("tall", 16), color=ink.line, clip=True
    )
    ticks = base.transform_filter("!isValid(datum.x2)").mark_tick(
        size=number_hole("tall", 16), thickness=1.6, color=ink.dot, clip=True
    )
    chart = alt.layer(
        bars.encode(x=x, x2="x2:Q"), ticks.encode(x=x), height=number_hole("height", _AXIS_HEIGHT)
    )
    if not logarithmic:
        top = alt.param(
            name=TOP,
            value=START,
            bind=alt.binding_range(min=LOWEST, max=HIGHEST, step=1, name="axis ends at 2 to the power of "),
        )
        chart = chart.add_params(top)
    return chart.configure_axis(
        labelColor=ink.text, titleColor=ink.soft, titleFontWeight="normal", gridColor=ink.hair
    )


def splits_chart(rows: Sequence[Row], ink: Ink) -> Filled:
    kinds, splits = ([*dict.fromkeys(str(row[key]) for row in rows)] for key in ("kind", "split"))
    first = [row for row in rows if row["split"] == splits[0]]
    return _splits(ink).filled({SPLITS: by_column(rows), NAMES: by_column(first)}, kinds=kinds, splits=splits)


@template
def _splits(ink: Ink) -> alt.LayerChart:
    kinds = several("kinds", ["Outlier channels"])
    series = Series(names=kinds, colors=ink.series[:3], shapes=SHAPES[:3], field="kind")
    x = alt.X(
        "split:O",
        title="exponent and mantissa bits beside the sign",
        scale=alt.Scale(domain=several("splits", ["E4M3"]), padding=0.3),
        axis=alt.Axis(labelAngle=0, grid=False),
    )
    y = alt.Y("sqnr:Q", title="SQNR (dB)", axis=alt.Axis(tickCount=5))
    base = alt.Chart(alt.NamedData(SPLITS)).encode(x=x, y=y)
    tooltip = tips(
        ("split:N", "split"),
        ("kind:N", "numbers"),
        ("sqnr:Q", "SQNR (dB)", ".1f"),
        ("zeros:Q", "become 0", ".1%"),
    )
    style = {"align": "left", "baseline": "top", "dx": -4, "dy": 10, "fontSize": 14, "fontWeight": "bold"}
    names = alt.Chart(alt.NamedData(NAMES)).encode(x=x, y=y, text="kind:N")
    titles = names.mark_text(**style, **halo(ink)).encode(color=series.color())
    return dressed(alt.layer(*curves(base, series, tooltip, width=2), titles, height=330), ink)
