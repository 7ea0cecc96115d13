"""Recipes side by side, by key: a published name, or the line of the reader's own."""

from collections.abc import Iterable
from dataclasses import replace

from fp8core.recipes import RECIPES
from fp8core.recipes.recipe import Recipe
from fp8core.recipes.text import own_recipe

OWN_TITLE = "Yours"
"""Title of the reader's own recipe beside published ones, which none of them has."""
_NO_LINE = "You have no recipe of your own in this address. The page “Design a recipe” makes one."


def recipe_of_key(key: str) -> Recipe:
    """A published recipe by name, or the reader's own by line. Raises ValueError for an unreadable line."""
    return RECIPES[key] if key in RECIPES else replace(own_recipe(key), title=OWN_TITLE)


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
