"""Color and shape of each recipe, the same on every page and in both themes.

A family has a color. Its first recipe has the family's shape; others have further shapes and dashes.
"""

from dataclasses import dataclass
from functools import lru_cache

from fp8core.recipes import RECIPES, Family

BF16_COLOR, BF16_SHAPE = "#606365", "circle"
_BAR = "M-1,-.4L1,-.4L1,.4L-1,.4Z"
_FOUR_BITS = "#e065b4"
_COLORS = {
    Family.PER_TENSOR: "#92531a",
    Family.PER_ROW: "#a0980b",
    Family.BLOCKS: "#1462c6",
    Family.MX: "#2ca668",
    Family.TWO_LEVEL: "#7d2fe6",
}
_SHAPES = {
    Family.PER_TENSOR: "square",
    Family.PER_ROW: _BAR,
    Family.BLOCKS: "circle",
    Family.MX: "triangle-down",
    Family.TWO_LEVEL: "diamond",
}
_FURTHER = ("cross", "triangle-right", "triangle-left", "square", "M-.9,-.9L.9,-.9L-.9,.9L.9,.9Z", "circle")
_DASHES = ((1, 0), (6, 3), (2, 2), (8, 2, 2, 2), (4, 4), (10, 3), (1, 3))


@dataclass(frozen=True)
class Mark:
    color: str
    shape: str
    dash: tuple[int, ...]


BF16 = Mark(BF16_COLOR, BF16_SHAPE, (1, 0))


# By position: a new recipe stands at the end of its family, and the others keep their marks.
@lru_cache(maxsize=1)
def _marks() -> dict[str, Mark]:
    marks: dict[str, Mark] = {}
    counts: dict[tuple[Family, bool], int] = {}
    for name, recipe in RECIPES.items():
        if recipe.family not in _COLORS:  # of the reader's own
            continue
        operands = [one for spec in (recipe.fprop, recipe.dgrad, recipe.wgrad) for one in spec.quantized]
        four = recipe.family is Family.MX and min(one.format.bits for one in operands) == 4
        number = counts[recipe.family, four] = counts.get((recipe.family, four), -1) + 1
        first = "triangle-up" if four else _SHAPES[recipe.family]
        further = [shape for shape in _FURTHER if shape != first]
        marks[name] = Mark(
            color=_FOUR_BITS if four else _COLORS[recipe.family],
            shape=first if number == 0 else further[(number - 1) % len(further)],
            dash=_DASHES[number % len(_DASHES)],
        )
    return marks


def mark_of(name: str | None) -> Mark:
    """Mark of a published recipe; bf16's for None; a cross for the reader's own."""
    if name is None:
        return BF16
    return _marks().get(name) or Mark("#78828f", "cross", (1, 0))
