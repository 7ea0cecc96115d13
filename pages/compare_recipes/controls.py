"""The controls of the page "Compare recipes"."""

from fp8core.recipes import RECIPES, Family
from fp8core.recipes.keys import OWN_TITLE
from fp8core.recipes.text import OWN_NAME
from pages.kit.recipes import by_family, family_title
from pages.kit.shared_controls import INPUT, OWN, SEED, format_options, is_element
from pages.kit.widgets import Choice, ChoiceStyle, Several

MOST = 5
"""Recipes of the reader's choice in one table."""
CHOSEN = "chosen"

SHOW = Choice(
    key="differ_show",
    label="Show",
    options={"table": "Three differences", "size": "Tile size"},
    default="table",
)
WHICH = Choice(
    key="differ_family",
    label="Which recipes",
    options={CHOSEN: "Your choice"}
    | {family.name.lower(): family_title(family.value) for family in by_family()},
    default=CHOSEN,
    style=ChoiceStyle.SELECT,
    help="Up to five recipes of your choice, or all of one family.",
)
COMPARED = Several(
    key="differ_recipes",
    label=f"Recipes, up to {MOST}",
    options={name: recipe.title for name, recipe in RECIPES.items()} | {OWN_NAME: OWN_TITLE},
    default=[recipes[0].name for recipes in by_family().values()],
    most=MOST,
)
FORMAT = Choice(
    key="differ_format",
    label="Format of the codes",
    options=format_options(is_element),
    default="e2m1",
    style=ChoiceStyle.SELECT,
    help="A narrow format has little range of its own, so its tiles matter most.",
)

ALL_CONTROLS = (SHOW, WHICH, COMPARED, OWN, INPUT, SEED, FORMAT)


def shown_recipes(which: str, compared: list[str]) -> tuple[str, ...]:
    """The names of the recipes in the table: those of a family, or the chosen ones."""
    if which == CHOSEN:
        return tuple(compared)
    return tuple(recipe.name for recipe in by_family()[Family[which.upper()]])
