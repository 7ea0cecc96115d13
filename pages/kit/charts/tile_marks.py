"""A heat map of tiles: rectangles colored by scale, lines and words in one frame.

    where = position(WIDTH, HEIGHT)
    tiles = heat_map(alt.Chart(alt.NamedData(TILES)), where, ink)     # fields x0, x1, y0, y1, log2
    chart = picture(WIDTH, HEIGHT, tiles, line_layer(), word_layer())

Positions are in units of the picture, from the top left.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from pages.kit.charts.ink import LIGHT, Ink

Row = dict[str, Any]  # the fields of a mark; also those of many marks, a column each

SANS = "'Source Sans', 'Source Sans Pro', sans-serif"
# A mark without a scale that a color could show: a part of D, an operand in bf16, a scale of zero or NaN
NEUTRAL = "!isValid(datum.log2)"
TILES, WORDS, LINES = "tiles", "words", "lines"
CORNERS = ("x0", "x1", "y0", "y1")
# True in a picture on a telephone: a mark with places of its own there has them under `n_…`
TELEPHONE = "width < 560"
WORD_STYLE: Row = {"dx": 0, "fontSize": 12, "fontWeight": "normal", "align": "left", "angle": 0, "font": SANS}


def joined(parts: Sequence[Row]) -> Row:
    fields = {name: [part[name] for part in parts] for name in parts[0]}
    return {
        name: np.concatenate(columns) if isinstance(columns[0], np.ndarray) else [*chain(*columns)]
        for name, columns in fields.items()
    }


def ranges(ends: NDArray[np.int64]) -> list[range]:
    """Convert int64[2, tiles], starts and stops, to ranges."""
    return [range(start, stop) for start, stop in ends.T.tolist()]


def own_colors(scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """Positions by log2 from 0 to 1 between powers of two around all scales; NaN for NaN and for 0 or less.

    The powers are at least four apart: small differences look small.
    """
    log2 = np.log2(np.where(scale > 0, scale, np.nan))
    logs = log2[~np.isnan(log2)]
    low, high = (math.floor(logs.min()), math.ceil(logs.max())) if logs.size else (0, 0)
    surplus = max(4 - (high - low), 0)
    low, high = low - surplus // 2, high + (surplus + 1) // 2
    return np.round((log2 - low) / (high - low), 3)


def shade_words(ink: Ink) -> str:
    """The meaning of the scales' ramp in words. The largest scale stands out most from the page."""
    return f"{'Darker' if ink is LIGHT else 'Lighter'} blue: a larger scale"


def position(width: float, height: float) -> dict[str, object]:
    across = alt.Scale(domain=[0, width], nice=False, zero=False)
    down = alt.Scale(domain=[0, height], reverse=True, nice=False, zero=False)
    return {
        "x": alt.X("x0:Q", scale=across, axis=None),
        "x2": "x1:Q",
        "y": alt.Y("y0:Q", scale=down, axis=None),
        "y2": "y1:Q",
    }


def heat_map(data: alt.Chart, where: Mapping[str, object], ink: Ink, **mark: object) -> alt.Chart:
    """Draw rectangles colored by `log2` from 0 to 1; gray for NaN."""
    ramp = alt.Scale(range="ramp", domain=[0, 1], clamp=True)
    color = alt.Color("log2:Q", legend=None, scale=ramp)
    return data.mark_rect(invalid=None, **mark).encode(
        **where,
        color=alt.when(NEUTRAL).then(alt.value(ink.panel)).otherwise(color),
        stroke=alt.value(ink.page),
    )


def word(x: float, y: float, text: str, color: str, *, narrow: str | None = None, **style: object) -> Row:
    """Words at (x, y), on a telephone `narrow` at (n_x, n_y), styled as `WORD_STYLE`."""
    places = {"x": x, "y": y, "n_x": style.pop("n_x", x), "n_y": style.pop("n_y", y)}
    words = {"text": text, "n_text": text if narrow is None else narrow}
    return {**places, **words, "color": color, **WORD_STYLE, **style}


def both(here: Sequence[Row], there: Sequence[Row]) -> list[Row]:
    return [
        {**one, **{f"n_{name}": other[name] for name in CORNERS}}
        for one, other in zip(here, there, strict=True)
    ]


def on_telephone(chart: alt.Chart, *fields: str) -> alt.Chart:
    """On a telephone, take these fields from those under `n_…`."""
    return chart.transform_calculate(
        **{field: f"{TELEPHONE} ? datum.n_{field} : datum.{field}" for field in fields}
    )


def word_layer(**mark: object) -> alt.Chart:
    style = mark | {name: alt.ExprRef(f"datum.{name}") for name in WORD_STYLE}
    words = on_telephone(alt.Chart(alt.NamedData(WORDS)), "x", "y", "text")
    return words.mark_text(baseline="middle", **style).encode(
        x="x:Q", y="y:Q", text="text:N", color=alt.Color("color:N", scale=None, legend=None)
    )


def line_layer() -> alt.Chart:
    color = alt.Color("color:N", scale=None, legend=None)
    return (
        alt.Chart(alt.NamedData(LINES))
        .mark_rule(strokeWidth=2)
        .encode(x="x0:Q", x2="x1:Q", y="y0:Q", y2="y1:Q", color=color)
    )


def picture(width: float, height: float, *layers: alt.Chart, **options: object) -> alt.LayerChart:
    return (
        alt.layer(*layers, width=width, height=height, **options)
        .resolve_scale(color="independent")
        .configure_view(stroke=None)
    )
