"""A dot plot: rows with a recipe's mark and name, and a rule at the reference.

    rows = alt.Chart(alt.NamedData("rows"))    # fields y, name, color, shape, and your own
    layers = [reference(1, x, ink), *dots(rows, x, row_axis(), tooltip), *names(rows, row_axis(), ink)]
    chart.filled({"rows": columns(titles, marks)}, **Rows(count, room, around=80).holes())

A name stands at the left of a wide page, above its row on a narrow one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from pages.kit.charts.ink import Ink
from pages.kit.charts.recipe_marks import Mark
from pages.kit.charts.template import number, several

WIDE = "width >= 600"
NAMES = 230  # pixels of the names on a wide page
_LETTERS = 13  # pixels of a name above its row
# A recipe's mark, from the columns of `columns`
COLOR, SHAPE = alt.Color("color:N", scale=None), alt.Shape("shape:N", scale=None)


@dataclass(frozen=True)
class Rows:
    count: int
    room: float
    around: float
    most: float = 76.0

    @property
    def height(self) -> float:
        return min(self.room, self.count * self.most + self.around)

    @property
    def step(self) -> float:
        return (self.height - self.around) / self.count

    @property
    def thick(self) -> float:
        """Pixels of a bar; a name fits above it."""
        return max(8.0, min(30.0, self.step - _LETTERS - 9))

    def holes(self) -> dict[str, Any]:
        return {
            "lines": [self.count - 0.4, -0.6],
            "height": self.height,
            "above": -min(self.step / 2, self.thick / 2 + _LETTERS / 2 + 2),
        }


def columns(names: Sequence[str], marks: Sequence[Mark]) -> dict[str, list[Any]]:
    return {
        "y": list(range(len(names))),
        "name": list(names),
        "color": [mark.color for mark in marks],
        "shape": [mark.shape for mark in marks],
    }


def row_axis() -> alt.Y:
    scale = alt.Scale(domain=several("lines", [5.0, -0.5]), nice=False, zero=False)
    return alt.Y("y:Q", scale=scale, axis=None)


def across(right: float, narrow: float, names: float = NAMES) -> list[alt.ExprRef]:
    return [alt.ExprRef(f"{WIDE} ? {names} : 6"), alt.ExprRef(f"width - ({WIDE} ? {right} : {narrow})")]


def dots(
    data: alt.Chart,
    x: alt.X,
    y: alt.Y,
    tooltip: Sequence[alt.Tooltip],
    *,
    low: str | None = None,
    high: str | None = None,
    width: float = 3,
    size: float = 120,
) -> list[alt.Chart]:
    """Point a row with its recipe's mark, on a rule from field `low` to `high`, if any."""
    point = data.mark_point(filled=True, size=size).encode(
        x=x, y=y, color=COLOR, shape=SHAPE, tooltip=list(tooltip)
    )
    if low is None or high is None:
        return [point]
    rule = data.mark_rule(strokeWidth=width).encode(x=_at(low, x), x2=high, y=y, color=COLOR)
    return [rule, point]


def _at(field: str, x: alt.X) -> alt.X:
    other = x.copy()
    other["shorthand"] = f"{field}:Q"
    return other


def reference(at: float, x: alt.X, ink: Ink) -> alt.Chart:
    rule = alt.Chart(alt.Data(values=[{"at": at}])).mark_rule(color=ink.text, strokeWidth=2)
    return rule.encode(x=_at("at", x))


def names(data: alt.Chart, y: alt.Y, ink: Ink) -> list[alt.Chart]:
    wide, narrow = alt.ExprRef(f"{WIDE} ? 1 : 0"), alt.ExprRef(f"{WIDE} ? 0 : 1")
    above = number("above", -20.0)
    words = {"align": "left", "baseline": "middle", "color": ink.text}
    bold = data.mark_text(**words, fontSize=14, fontWeight="bold", opacity=wide)
    light = data.mark_text(**words, fontSize=13, opacity=narrow, dy=above)
    point = data.mark_point(filled=True, size=120, opacity=wide)
    small = data.mark_point(filled=True, size=70, opacity=narrow, yOffset=above)
    return [
        bold.encode(x=alt.value(24), y=y, text="name:N"),
        light.encode(x=alt.value(20), y=y, text="name:N"),
        *(one.encode(x=alt.value(8), y=y, color=COLOR, shape=SHAPE) for one in (point, small)),
    ]
