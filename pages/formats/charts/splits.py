"""Eight bits split between exponent and mantissa: SQNR of each split, a line a kind of numbers."""

from collections.abc import Sequence

import altair as alt

from pages.kit.charts.curves import Series, curves
from pages.kit.charts.finish import color_range, dressed, shape_range
from pages.kit.charts.ink import Ink
from pages.kit.charts.template import Filled, by_column, several, template

POINTS, NAMES = "points", "names"
TALL, _MOST = 330, 4
Row = dict[str, object]


def splits_chart(rows: Sequence[Row], ink: Ink) -> Filled:
    """A point a split and kind of numbers: `split`, `kind`, `sqnr` and `zeros`."""
    kinds, splits = ([*dict.fromkeys(str(row[key]) for row in rows)] for key in ("kind", "split"))
    first = [row for row in rows if row["split"] == splits[0]]
    return _chart(ink).filled({POINTS: by_column(rows), NAMES: by_column(first)}, kinds=kinds, splits=splits)


@template
def _chart(ink: Ink) -> alt.LayerChart:
    kinds = several("kinds", ["Outlier channels"])
    series = Series(names=kinds, colors=color_range(_MOST, ink), shapes=shape_range(_MOST), field="kind")
    x = alt.X(
        "split:O",
        title="exponent and mantissa bits beside the sign",
        scale=alt.Scale(domain=several("splits", ["E4M3"]), padding=0.3),
        axis=alt.Axis(labelAngle=0, grid=False),
    )
    y = alt.Y("sqnr:Q", title="SQNR (dB)", axis=alt.Axis(tickCount=5))
    base = alt.Chart(alt.NamedData(POINTS)).encode(x=x, y=y)
    tooltip = [
        alt.Tooltip("split:N", title="split"),
        alt.Tooltip("kind:N", title="numbers"),
        alt.Tooltip("sqnr:Q", title="SQNR (dB)", format=".1f"),
        alt.Tooltip("zeros:Q", title="become 0", format=".1%"),
    ]
    at_the_left = {"align": "left", "baseline": "top", "dx": -4, "dy": 10, "fontSize": 14, "aria": False}
    names = alt.Chart(alt.NamedData(NAMES)).encode(x=x, y=y, text="kind:N")
    written = [
        names.mark_text(**at_the_left, fontWeight="bold", stroke=ink.page, strokeWidth=5),
        names.mark_text(**at_the_left, fontWeight="bold").encode(color=series.color()),
    ]
    return dressed(alt.layer(*curves(base, series, tooltip, width=2), *written, height=TALL), ink)
