"""A code on the number line, with its neighbors and the reals that become it; all numbers of a format."""

import math
from functools import lru_cache
from itertools import pairwise

import altair as alt

from fp8core.formats import Format
from fp8core.formats.float_format import FloatFormat
from fp8core.formats.number_line import Interval, Outcome, around, step
from pages.formats.charts.words import MONOSPACE, hexadecimal, number, power_labels
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Columns, Filled, arrow, several, template, text

DATA = "line"
HEIGHT = 150
_AXIS, _NUMBER = 82, 26
_MARGIN = 0.09
_CHARACTER, _NARROWEST = 7.4, 358
_REACHES = (3, 2, 1)
_DIGITS = 9
Row = dict[str, object]


def neighbors(format_: Format, code: int) -> list[int]:
    """The code and as many neighbors as their labels leave room for."""
    for reach in _REACHES:
        codes = around(format_, code, reach)
        values = [float(format_.decode(one)) for one in codes]
        if len(values) < 2:
            break
        closest = min(b - a for a, b in pairwise(values)) / (values[-1] - values[0])
        longest = max(len(number(value, _DIGITS)) for value in values) * _CHARACTER
        if closest * _NARROWEST * (1 - 2 * _MARGIN) > longest + 8:
            return codes
    return codes


def line_rows(
    format_: Format,
    code: int,
    interval: Interval | None,
    typed: float | None = None,
    outcomes: tuple[Outcome, ...] = (),
) -> dict[str, list[object]]:
    """The chart's data by column, for a finite code or an infinity; `x` is a place from 0 to 1.

    `typed` is the number that was rounded; `outcomes` are named with their probabilities where there are two.
    """
    exact = float(format_.decode(code))
    center = code if math.isfinite(exact) else int(format_.encode(exact))
    codes = neighbors(format_, center)
    values = [float(format_.decode(one)) for one in codes]
    low, high = values[0], values[-1]
    if step(format_, codes[-1], up=True) is None:
        high += format_.gap_beyond
    if step(format_, codes[0], up=False) is None and low < 0:
        low -= format_.gap_beyond

    def at(x: float) -> float:
        return min(max((x - low) / (high - low), -_MARGIN), 1 + _MARGIN)

    chances = {o.code: f"{o.probability:.3g}".rstrip("0").rstrip(".") for o in outcomes if len(outcomes) > 1}
    rows: list[Row] = [
        {
            "kind": "value",
            "x": at(value),
            "text": number(value, _DIGITS),
            "code": hexadecimal(one, format_),
            "on": 1 if one == code else 0,
        }
        for one, value in zip(codes, values, strict=True)
    ]
    rows += [
        {"kind": "chance", "x": at(float(format_.decode(one))), "text": f"p = {chance}"}
        for one, chance in chances.items()
        if math.isfinite(float(format_.decode(one)))
    ]
    if interval is not None:
        rows.append({"kind": "interval", "x": at(interval.low), "x2": at(interval.high)})
        for end, closed, arrow in (
            (interval.low, interval.low_closed, "◀"),
            (interval.high, interval.high_closed, "▶"),
        ):
            if low - (high - low) * _MARGIN < end < high + (high - low) * _MARGIN:
                rows.append({"kind": "end", "x": at(end), "on": int(closed), "text": number(end, 17)})
            else:
                rows.append({"kind": "arrow", "x": at(end), "text": arrow})
    if typed is not None and not math.isnan(typed):
        far = "" if -_MARGIN < at(typed) < 1 + _MARGIN else (" →" if typed > high else " ←")
        rows.append({"kind": "number", "x": at(typed), "text": f"{number(typed)}{far}"})
    columns = ("kind", "x", "x2", "text", "code", "on")
    return {name: [row.get(name) for row in rows] for name in columns}


def line_chart(rows: dict[str, list[object]], ink: Ink) -> Filled:
    """The number line of `line_rows`."""
    return _line(ink).filled({DATA: rows})


@template
def _line(ink: Ink) -> alt.LayerChart:
    scale = alt.Scale(domain=[-_MARGIN - 0.005, 1 + _MARGIN + 0.005], nice=False, zero=False)
    base = alt.Chart().encode(x=alt.X("x:Q", scale=scale, axis=None))

    def only(kind: str) -> alt.Chart:
        return base.transform_filter(f"datum.kind == '{kind}'")

    values, ends, typed = only("value"), only("end"), only("number")
    mark = alt.when("datum.on == 1")
    text = {"baseline": "middle", "align": "center", "aria": False}
    ends_tip = alt.Tooltip("text:N", title="the interval ends at")
    color = mark.then(alt.value(ink.text)).otherwise(alt.value(ink.soft))
    return (
        alt.layer(
            only("interval")
            .mark_rule(y=_AXIS, strokeWidth=24, strokeCap="round", color=ink.win, aria=False)
            .encode(x2="x2:Q"),
            alt.Chart(alt.Data(values=[{}]))
            .mark_rule(y=_AXIS, color=ink.line, strokeWidth=1.75, aria=False)
            .encode(x=alt.value(0), x2=alt.value(alt.ExprRef("width"))),
            only("arrow").mark_text(y=_AXIS, size=15, color=ink.scale, **text).encode(text="text:N"),
            ends.mark_point(
                y=_AXIS, size=70, strokeWidth=2, filled=False, shape="circle", opacity=1, stroke=ink.scale
            ).encode(
                fill=mark.then(alt.value(ink.scale)).otherwise(alt.value(ink.page)),
                tooltip=ends_tip
            ),
            values.mark_rule(y=_AXIS - 14, y2=_AXIS + 14, aria=False).encode(
                strokeWidth=mark.then(alt.value(4)).otherwise(alt.value(1.8)),
                color=mark.then(alt.value(ink.text)).otherwise(alt.value(ink.dot))
            ),
            values.mark_text(y=_AXIS + 30, size=14, **text).encode(text="text:N", color=color),
            values.mark_text(y=_AXIS + 48, size=12, font=MONOSPACE, **text).encode(
                text="code:N", color=color
            ),
            only("chance")
            .mark_text(y=_AXIS + 63, size=13, fontWeight="bold", color=ink.text, **text)
            .encode(text="text:N"),
            typed.mark_text(y=_NUMBER - 12, size=17, fontWeight="bold", color=ink.text, **text).encode(
                text="text:N"
            ),
            typed.mark_rule(y=_NUMBER, y2=_AXIS - 14, color=ink.text, strokeWidth=1.5, aria=False),
            typed.mark_point(
                y=_AXIS - 12, shape="triangle-down", filled=True, size=110, color=ink.text, opacity=1
            ).encode(tooltip=alt.Tooltip("text:N", title="the number")),
            data=alt.NamedData(DATA),
            height=HEIGHT
        )
        .configure_view(stroke=None)
        .configure_axis(grid=False)
    )  # fmt: skip


TICKS, FRAMED, LESS = "ticks", "framed", "less"
STRIP = 118
_TOP, _BOTTOM = 24, 66
_KEPT = 64


@lru_cache(maxsize=_KEPT)
def _ticks(format_: Format) -> bytes:
    values = sorted({v for v in format_.values.tolist() if 0 < v < math.inf})
    return arrow({"log2": [math.log2(v) for v in values], "text": [number(v) for v in values]})


def strip_chart(format_: Format, code: int, ink: Ink) -> Filled:
    """All positive numbers of a format on a logarithmic axis. A frame holds those of the number line."""
    low, high = math.log2(format_.min_subnormal), math.log2(format_.max)
    edge = max((high - low) * 0.02, 0.1)
    values = [abs(float(format_.decode(one))) for one in neighbors(format_, code)]
    logs = [math.log2(v) for v in values if 0 < v < math.inf]
    framed: Columns = (
        {"x0": [min(logs) - edge / 3], "x1": [max(logs) + edge / 3]} if logs else {"x0": [], "x1": []}
    )
    normal = math.log2(format_.min_normal) if isinstance(format_, FloatFormat) else low
    count = len({v for v in format_.values.tolist() if 0 < v < math.inf})
    return _strip(ink).filled(
        {TICKS: _ticks(format_), FRAMED: framed, LESS: {"x0": [low], "x1": [max(normal, low)]}},
        across=[low - edge, high + edge],
        title=f"All {count} positive numbers of {format_.name}",
        less="fewer bits" if normal - low > 0.1 * (high - low) else "",
    )


@template
def _strip(ink: Ink) -> alt.LayerChart:
    scale = alt.Scale(domain=several("across", [0.0, 1.0]), nice=False, zero=False)
    axis = alt.Axis(
        labelExpr=power_labels("datum.value"), tickMinStep=1, tickCount=9, grid=False, domain=False
    )
    ticks, framed, less = (alt.Chart(alt.NamedData(name)) for name in (TICKS, FRAMED, LESS))
    between = {"y": alt.value(_TOP), "y2": alt.value(_BOTTOM)}
    span = {"x": alt.X("x0:Q", scale=scale), "x2": "x1:Q"}
    return alt.layer(
        less.mark_rect(color=ink.sub, aria=False).encode(**span, **between),
        ticks.mark_rule(color=ink.dot, strokeWidth=1.3).encode(
            x=alt.X("log2:Q", scale=scale, axis=axis, title=None),
            tooltip=alt.Tooltip("text:N", title="number"),
            **between,
        ),
        framed.mark_rect(fill=None, stroke=ink.text, strokeWidth=2, cornerRadius=4, aria=False).encode(
            **span, y=alt.value(_TOP - 5), y2=alt.value(_BOTTOM + 5)
        ),
        less.mark_text(
            align="left", baseline="bottom", fontSize=13, color=ink.soft, text=text("less", "fewer bits")
        ).encode(x=alt.X("x0:Q", scale=scale), y=alt.value(_TOP - 7)),
        alt.Chart(alt.Data(values=[{}]))
        .mark_text(
            align="right", baseline="bottom", fontSize=14, color=ink.text, text=text("title", "numbers")
        )
        .encode(x=alt.value(alt.ExprRef("width")), y=alt.value(_TOP - 7)),
        height=STRIP,
    ).configure_view(stroke=None)
