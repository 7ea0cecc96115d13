"""A drawn axis: empty at first, then with two points, a reader's guess and the truth."""

import math

import altair as alt
import pyarrow as pa

from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, number, several, template, text

POINTS = "points"
EMPTY, TALL = 60, 130  # pixels, with the words below the axis
_WHO = ("you", "the page")
_ROWS = (2, 1)
_LABELS = "abs(datum.value) >= 1000 ? format(datum.value, '~s') : format(datum.value, '~g')"


def guess_axis(
    low: float,
    high: float,
    unit: str,
    ink: Ink,
    *,
    is_log: bool,
    points: tuple[float, float] | None = None,
) -> Filled:
    """The axis, and the guess and the truth where they are given; one beyond an end is drawn at that end."""
    at = [min(max(value, low), high) for value in points or ()]
    middle = (low * high) ** 0.5 if is_log else (low + high) / 2
    drawn = {
        "who": _WHO[: len(at)],
        "row": _ROWS[: len(at)],
        "value": pa.array(at, pa.float64()),
        "is_right": pa.array([value > middle for value in at], pa.bool_()),
    }
    values = {"domain": [low, high], "unit": unit or "value", "height": TALL if points else EMPTY}
    if is_log:
        values["ticks"] = powers_of_ten(low, high)
    return _axis(ink, is_log).filled({POINTS: drawn}, **values)


def powers_of_ten(low: float, high: float) -> list[float]:
    exponents = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
    return [10.0**exponent for exponent in exponents] if len(exponents) > 1 else [low, high]


@template
def _axis(ink: Ink, is_log: bool) -> alt.LayerChart:
    scale = alt.Scale(
        type="log" if is_log else "linear", domain=several("domain", [1.0, 2.0]), nice=False, zero=False
    )
    ticks = {"values": several("ticks", [1.0, 2.0])} if is_log else {"tickCount": 5}
    x = alt.X(
        "value:Q",
        scale=scale,
        title=text("unit", "unit"),
        axis=alt.Axis(labelExpr=_LABELS, grid=True, **ticks),
    )
    y = alt.Y("row:Q", scale=alt.Scale(domain=[0.5, 2.6]), axis=None)
    base = alt.Chart(alt.NamedData(POINTS), height=number("height", TALL))
    marks = base.mark_point(filled=True, size=140, opacity=1).encode(
        x=x,
        y=y,
        shape=alt.Shape(
            "who:N", scale=alt.Scale(domain=_WHO, range=["triangle-down", "diamond"]), legend=None
        ),
        color=alt.Color("who:N", scale=alt.Scale(domain=_WHO, range=[ink.lost, ink.scale]), legend=None),
    )
    words = [
        base.transform_filter(f"datum.is_right == {str(is_right).lower()}")
        .mark_text(align="right" if is_right else "left", dx=-11 if is_right else 11, fontSize=13)
        .encode(x=x, y=y, text="who:N", color=alt.value(ink.text))
        for is_right in (False, True)
    ]
    return alt.layer(marks, *words)
