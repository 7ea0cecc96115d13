"""Words in a picture: above a bar, beside a point on the side that has room, apart from one another."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from pages.kit.charts.ink import Ink

WORDS = "words"  # the field with the words of a line
LETTERS = 18  # pixels that the words above a bar add to the height of its line

_FONT, _GAP = 13, 9


def words_of(name: str, figures: str) -> str:
    return f"{name}: {figures}" if figures else name


def without_names() -> alt.Axis:
    return alt.Axis(labels=False, grid=False, ticks=False, domain=False)


def words_above(lines: alt.Chart, bar: float, ink: Ink) -> alt.Chart:
    """The words of each line, from the left edge, above bars of `bar` pixels. `lines` has their places."""
    mark = lines.mark_text(
        align="left", baseline="middle", dy=-bar / 2 - _GAP, fontSize=_FONT, color=ink.text, clip=False
    )
    return mark.encode(x=alt.value(0), text=f"{WORDS}:N")


def beside(data: alt.Chart, is_right: str, *, dx: float = 10, **mark: Any) -> list[alt.Chart]:
    """Text marks at the left of a point where the Vega expression `is_right` holds, else at its right.

    layers = [one.encode(x=x, y=y, text="words:N") for one in beside(points, "datum.k > 12")]
    """
    sided = data.transform_calculate(right=is_right)
    return [
        sided.transform_filter("datum.right").mark_text(align="right", dx=-dx, **mark),
        sided.transform_filter("!datum.right").mark_text(align="left", dx=dx, **mark),
    ]


def apart(wanted: Sequence[float], least: float) -> list[float]:
    """Places near the wanted ones, in their order, with at least so much between two."""
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    places = [wanted[at] for at in order]
    for at in range(1, len(places)):
        places[at] = max(places[at], places[at - 1] + least)
    shift = (sum(places) - sum(wanted)) / max(len(places), 1)
    return [places[order.index(at)] - shift for at in range(len(wanted))]


def spread(wanted: Sequence[float], sizes: Sequence[float], tall: float) -> list[float]:
    """Middles from 0 to `tall` near the wanted ones, in their order; each takes its size, none overlaps."""
    places, top = [0.0] * len(wanted), 0.0
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    for at in order:
        places[at] = max(wanted[at], top + sizes[at] / 2)
        top = places[at] + sizes[at] / 2
    bottom = tall
    for at in reversed(order):
        places[at] = min(places[at], bottom - sizes[at] / 2)
        bottom = places[at] - sizes[at] / 2
    return places
