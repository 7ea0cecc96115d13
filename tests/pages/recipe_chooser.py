"""Choosing a recipe on a page, by its family."""

from streamlit.testing.v1 import AppTest

from fp8core.recipes import RECIPES
from pages.kit.recipes import FAMILY_KEY


def choose_recipe(at: AppTest, name: str) -> None:
    """Set both lists to a published recipe."""
    at.selectbox(key=FAMILY_KEY).set_value(RECIPES[name].family.value).run()
    if at.selectbox(key="recipe").value != name:
        at.selectbox(key="recipe").set_value(name).run()
