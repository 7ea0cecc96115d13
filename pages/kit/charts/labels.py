"""Words in a picture: in a tooltip, above a bar, and beside a point on the side that has room."""

from collections.abc import Sequence
from typing import Any

import altair as alt

_TIP = ("shorthand", "title", "format")
WORDS = "words"  # the field with the words of a line


def words_of(name: str, figures: str) -> str:
    return f"{name}: {figures}" if figures else name


def without_names() -> alt.Axis:
    return alt.Axis(labels=False, grid=False, ticks=False, domain=False)


def beside(data: alt.Chart, is_right: str, *, dx: float = 10, **mark: Any) -> list[alt.Chart]:
    """Text marks left of a point where the Vega expression `is_right` holds, else right of it.

    layers = [one.encode(x=x, y=y, text="words:N") for one in beside(points, "datum.k > 12")]
    """
    sided = data.transform_calculate(right=is_right)
    return [
        sided.transform_filter("datum.right").mark_text(align="right", dx=-dx, **mark),
        sided.transform_filter("!datum.right").mark_text(align="left", dx=dx, **mark),
    ]


def spread(targets: Sequence[float], sizes: Sequence[float], tall: float) -> list[float]:
    """Middles from 0 to `tall` near the wanted ones, in order, without overlap of `sizes`."""
    places, top = [0.0] * len(targets), 0.0
    order = sorted(range(len(targets)), key=targets.__getitem__)
    for at in order:
        places[at] = max(targets[at], top + sizes[at] / 2)
        top = places[at] + sizes[at] / 2
    bottom = tall
    for at in reversed(order):
        places[at] = min(places[at], bottom - sizes[at] / 2)
        bottom = places[at] - sizes[at] / 2
    return places


def tips(*lines: tuple[str, ...]) -> list[alt.Tooltip]:
    """Lines of a tooltip: (field, title), or (field, title, format)."""
    return [alt.Tooltip(**dict(zip(_TIP, line, strict=False))) for line in lines]
