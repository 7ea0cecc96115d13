"""The recipe of a page: published, or the reader's own from the address."""

from collections.abc import Iterable

import streamlit as st

from fp8core.recipes import RECIPES, Family, Recipe
from fp8core.recipes.keys import recipe_of_key
from fp8core.recipes.text import own_recipe
from pages.kit.controls import Controls, Value
from pages.kit.inert import plain
from pages.kit.shared_controls import OWN, RECIPE
from pages.kit.view import here
from pages.kit.widgets import Place

RECIPE_CONTROLS = (RECIPE, OWN)  # the controls that a page with a recipe declares
_NO_LINE = "You have no recipe of your own in this address. The page “Design a recipe” makes one."
_BAD_LINE = "Your own recipe cannot be read: {reason}. Shown instead: {title}."


def recipe_values(controls: Controls) -> dict[str, str]:
    """The recipe as a job names it: `recipe`, and `own`, the line of the reader's own."""
    recipe, problem = _recipe_and_problem(controls)
    is_own = controls.value(RECIPE) not in RECIPES and not problem
    return {"recipe": recipe.name, "own": controls.value(OWN) if is_own else ""}


def recipe_params(recipe: str, own: str = "") -> dict[str, Value]:
    return {RECIPE.key: recipe} | ({OWN.key: own} if own else {})


def draw_recipe(controls: Controls, place: Place) -> Recipe:
    controls.draw(RECIPE, place)
    recipe, problem = _recipe_and_problem(controls)
    if problem:
        st.warning(problem)
    return recipe


def draw_source(recipe: Recipe) -> None:
    if recipe.remark:
        here().know.caption(f"**{recipe.title}**: {recipe.remark}")
    if recipe.source:
        here().know.caption(f"Source of this recipe: {recipe.source}.")


def family_title(name: str) -> str:
    return name[:1].upper() + name[1:]


def by_family() -> dict[Family, list[Recipe]]:
    families = {family: [r for r in RECIPES.values() if r.family is family] for family in Family}
    return {family: recipes for family, recipes in families.items() if recipes}


def _recipe_and_problem(controls: Controls) -> tuple[Recipe, str]:
    name, line = controls.value(RECIPE), controls.value(OWN)
    if name in RECIPES:
        return RECIPES[name], ""
    instead = RECIPES[RECIPE.default]
    if not line:
        return instead, f"{_NO_LINE} Until then this page shows {instead.title}."
    try:
        return own_recipe(line), ""
    except ValueError as error:
        return instead, _BAD_LINE.format(reason=plain(str(error)), title=instead.title)


def keys_of(names: Iterable[str], line: str) -> tuple[tuple[str, ...], str]:
    """Keys of recipes by name, and a sentence if the reader's own, `line`, is missing."""
    keys, message = [], ""
    for name in names:
        key = name if name in RECIPES else line
        try:
            recipe_of_key(key)
        except ValueError as error:
            message = f"Your own recipe cannot be read: {error}." if key else _NO_LINE
        else:
            keys.append(key)
    if message:
        message += " Shown are the others." if keys else " Shown instead are those with which the page opens."
    return tuple(keys), message
