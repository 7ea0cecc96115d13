"""All positive numbers of a format on a logarithmic axis, and which of them the number line shows."""

import math
from functools import lru_cache

import altair as alt

from fp8core.formats import Format
from fp8core.formats.float_format import FloatFormat
from pages.formats.charts.line import shown_codes
from pages.formats.charts.words import number, power_labels
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Columns, Filled, arrow, several, template, text

TICKS, SHOWN, LESS = "ticks", "shown", "less"
HEIGHT, LARGEST = 118, 8
_TOP, _BOTTOM = 24, 66
_KEPT = 64


@lru_cache(maxsize=_KEPT)
def _ticks(format_: Format) -> bytes:
    values = sorted({v for v in format_.values.tolist() if 0 < v < math.inf})
    return arrow({"log2": [math.log2(v) for v in values], "text": [number(v) for v in values]})


def strip_chart(format_: Format, code: int, ink: Ink) -> Filled:
    """The strip of a format of at most `LARGEST` bits, around the numbers beside `code`."""
    low, high = math.log2(format_.min_subnormal), math.log2(format_.max)
    edge = max((high - low) * 0.02, 0.1)
    values = [abs(float(format_.decode(one))) for one in shown_codes(format_, code)]
    logs = [math.log2(v) for v in values if 0 < v < math.inf]
    shown: Columns = (
        {"x0": [min(logs) - edge / 3], "x1": [max(logs) + edge / 3]} if logs else {"x0": [], "x1": []}
    )
    normal = math.log2(format_.min_normal) if isinstance(format_, FloatFormat) else low
    count = len({v for v in format_.values.tolist() if 0 < v < math.inf})
    return _chart(ink).filled(
        {TICKS: _ticks(format_), SHOWN: shown, LESS: {"x0": [low], "x1": [max(normal, low)]}},
        across=[low - edge, high + edge],
        title=f"All {count} positive numbers of {format_.name}",
        less="fewer bits" if normal - low > 0.1 * (high - low) else "",
    )


@template
def _chart(ink: Ink) -> alt.LayerChart:
    scale = alt.Scale(domain=several("across", [0.0, 1.0]), nice=False, zero=False)
    axis = alt.Axis(
        labelExpr=power_labels("datum.value"), tickMinStep=1, tickCount=9, grid=False, domain=False
    )
    ticks, shown, less = (alt.Chart(alt.NamedData(name)) for name in (TICKS, SHOWN, LESS))
    between = {"y": alt.value(_TOP), "y2": alt.value(_BOTTOM)}
    span = {"x": alt.X("x0:Q", scale=scale), "x2": "x1:Q"}
    return alt.layer(
        less.mark_rect(color=ink.sub, aria=False).encode(**span, **between),
        ticks.mark_rule(color=ink.dot, strokeWidth=1.3).encode(
            x=alt.X("log2:Q", scale=scale, axis=axis, title=None),
            tooltip=alt.Tooltip("text:N", title="number"),
            **between,
        ),
        shown.mark_rect(fill=None, stroke=ink.text, strokeWidth=2, cornerRadius=4, aria=False).encode(
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
        height=HEIGHT,
    ).configure_view(stroke=None)
