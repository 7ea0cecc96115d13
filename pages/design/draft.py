"""Controls of the page "Design a recipe", and its recipe as plain data."""

import re
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import getitem
from typing import Any

from fp8core.experiments.designs import CELLS
from fp8core.inputs import InputKind, rules
from fp8core.linear import MATMULS, Side
from fp8core.recipes import RECIPES, Recipe
from fp8core.recipes.compact import from_line, to_line
from fp8core.recipes.plain import OWN_NAME, OWN_TITLE, Plain, checked, to_plain
from fp8core.recipes.reading import WRONG
from fp8core.recipes.recipe import Family
from pages.kit.shared_controls import INPUT_TITLES, OWN, SEED, by_family, family_title, input_help
from pages.kit.widgets import Choice, Select

SHOW = Choice(
    key="design_show",
    label="Show",
    options={"recipe": "Recipe", "error": "Error", "cost": "Cost", "runs": "Who can run it"},
    moved={"knobs": "error", "text": "recipe"},
)
BEGIN = Select(
    key="design_from",
    label="Begin with",
    options={
        recipe.name: f"{family_title(family.value)} · {recipe.title}"
        for family, recipes in by_family().items()
        for recipe in recipes
    },
    default="mxfp8",
    help="The published recipe with which the six operands are filled, and with which yours is compared.",
)


def cell_key(matmul: str, side: Side) -> str:
    return f"{matmul}_{side.value.lower()}"


CELL_KEYS = {cell_key(matmul, side): (matmul, side) for matmul, side in CELLS}
CELL = Choice(
    key="design_cell",
    label="Operand to change",
    options={
        key: f"{MATMULS[matmul].title} {MATMULS[matmul].operand(side).value}"
        for key, (matmul, side) in CELL_KEYS.items()
    },
    default="fprop_a",
    help="A recipe has six operands: three matmuls with two each. One of them is changed at a time.",
)
INPUT = Select(
    key="design_input",
    label="Input",
    options=INPUT_TITLES,
    default=InputKind.OUTLIER_CHANNELS.value,
    help=f"The distribution of x, w and dy. {input_help(rules)}",
)
ALL_CONTROLS = (SHOW, BEGIN, OWN, CELL, INPUT, SEED)


_PATH = re.compile(rf"\b({'|'.join(MATMULS)})(?:\.([ab])\b)?(?:\.[a-z_]+)*(?=: )")


@dataclass(frozen=True, kw_only=True)
class Draft:
    """The recipe that the reader edits.

    - data: all its fields, each right by itself; never changed in place. line: the same for the address.
    - recipe: None where two of the fields exclude each other; `refusals` has a clause for each such pair.
    - unread: the fault of the address's line; the draft is then the published recipe.
    """

    data: Plain
    line: str
    recipe: Recipe | None
    refusals: tuple[str, ...] = ()
    unread: str = ""

    def with_value(self, path: tuple[str, ...], value: Any) -> str:
        data = deepcopy(self.data)
        reduce(getitem, path[:-1], data)[path[-1]] = value
        return to_line(data)

    def with_operand_everywhere(self, matmul: str, side: Side) -> str:
        """The line with this operand in all six places, without a saved copy."""
        operand = self.operand(matmul, side)
        if operand is not None:
            operand = {**operand, "saved_as": None}
        pair = {"a": operand, "b": operand}
        return to_line({**self.data, **{name: {**self.data[name], **pair} for name in MATMULS}})

    def operand(self, matmul: str, side: Side) -> Plain | None:
        return self.data[matmul][side.value.lower()]


@lru_cache(maxsize=256)
def draft_of(line: str, begin: str) -> Draft:
    """The draft of a line; of the recipe `begin` where the line is empty or unreadable."""
    unread = ""
    if line:
        try:
            data = from_line(line)
            unread = "; ".join(checked(data)[1].wrong)
        except ValueError as error:
            unread = str(error)
        if not unread:
            return _of(data)
    return _of(to_plain(RECIPES[begin]) | {"title": OWN_TITLE, "source": "", "remark": ""}, unread)


def _of(data: Plain, unread: str = "") -> Draft:
    data = {**data, "name": OWN_NAME, "family": Family.OWN.value}
    recipe, report = checked(data)
    return Draft(
        data=data,
        line=to_line(data),
        recipe=None if recipe is WRONG else recipe,
        refusals=tuple(report.refused),
        unread=unread,
    )


def in_words(clause: str) -> str:
    """A clause with operands by their names: fprop.a.scale becomes Fprop's x."""

    def name(path: re.Match[str]) -> str:
        matmul = MATMULS[path[1]]
        return f"{matmul.title}'s {matmul.operand(Side(path[2].upper())).value}" if path[2] else matmul.title

    return _PATH.sub(name, clause)
