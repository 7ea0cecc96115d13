"""Facts of the page "Sanity check"."""

from fp8core.recipes import RECIPES
from pages.kit.lesson.facts import fact


def test_a_check_covers_every_recipe_and_each_of_three_matmuls():
    assert fact("sanity_check.recipes", {"check": "quick"}) == len(RECIPES)
    assert fact("sanity_check.matmuls", {}) == 3
