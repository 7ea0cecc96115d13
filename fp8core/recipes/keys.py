"""Recipes side by side, by key: a published name, or the line of the reader's own."""

from dataclasses import replace

from fp8core.recipes import RECIPES
from fp8core.recipes.recipe import Recipe
from fp8core.recipes.text import own_recipe

OWN_TITLE = "Yours"
"""Title of the reader's own recipe beside published ones, which none of them has."""


def recipe_of_key(key: str) -> Recipe:
    """A published recipe by name, or the reader's own by line. Raises ValueError for an unreadable line."""
    return RECIPES[key] if key in RECIPES else replace(own_recipe(key), title=OWN_TITLE)
