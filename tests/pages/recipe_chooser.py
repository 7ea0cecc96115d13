"""Choosing a recipe on a page, by its family."""

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Selectbox

from fp8core.recipes import RECIPES
from pages.kit.recipes import FAMILY_KEY, list_key


def choose_recipe(at: AppTest, name: str) -> None:
    """Set both lists to a published recipe."""
    at.selectbox(key=FAMILY_KEY).set_value(RECIPES[name].family.value).run()
    chosen = recipe_list(at, name)
    if chosen.value != name:
        chosen.set_value(name).run()


def recipe_list(at: AppTest, name: str) -> Selectbox:
    """The list in which a published recipe stands, drawn while its family is chosen."""
    return at.selectbox(key=list_key(RECIPES[name].family))
