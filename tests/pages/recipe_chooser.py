"""Choosing a recipe on a page."""

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Selectbox

from pages.kit.shared_controls import RECIPE


def choose_recipe(at: AppTest, name: str) -> None:
    """Take a recipe from the list."""
    recipe_list(at).set_value(name).run()


def recipe_list(at: AppTest) -> Selectbox:
    """The list of recipes."""
    return at.selectbox(key=RECIPE.key)
