"""Contract: a recipe is chosen by its family; the reader's own comes from the address, or a sentence does."""

import pytest

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES, Family
from fp8core.recipes.text import own_text
from pages.kit.recipes import FAMILY_KEY, by_family, families
from pages.kit.shared_controls import RECIPE
from tests.pages.recipe_chooser import choose_recipe, recipe_list

PAGE = "pages/live_gemm.py"
SMALL = {"m": "64", "n": "64", "k": "128"}


def warnings(at) -> str:
    return " ".join(one.value for one in at.warning)


def test_every_recipe_has_a_place_in_the_list_of_its_family():
    assert [recipe.name for recipes in by_family().values() for recipe in recipes] == list(RECIPES)
    assert families()[-1] is Family.OWN
    assert set(RECIPES) < set(RECIPE.options)


@pytest.mark.parametrize("family", by_family(), ids=lambda family: family.name.lower())
def test_another_family_brings_its_first_recipe_and_the_one_chosen_there_last(open_app, family):
    first, *_, last = [*by_family()[family], *by_family()[family]][: len(by_family()[family]) + 1]
    at = open_app(PAGE, recipe="own")
    at.selectbox(key=FAMILY_KEY).set_value(family.value).run()
    assert recipe_list(at, first.name).value == first.name
    assert recipe_list(at, first.name).options == [recipe.title for recipe in by_family()[family]]
    choose_recipe(at, last.name)
    at.selectbox(key=FAMILY_KEY).set_value(Family.OWN.value).run()
    at.selectbox(key=FAMILY_KEY).set_value(family.value).run()
    assert recipe_list(at, first.name).value == last.name
    assert at.query_params.get("recipe", RECIPE.default) == last.name
    assert not at.exception


def test_a_click_before_the_answer_to_another_family_undoes_nothing(open_app):
    """The second click comes from the page as it was: its list still has the old recipe."""
    at = open_app(PAGE)
    matmul = at.segmented_control(key="matmul")
    at.selectbox(key=FAMILY_KEY).set_value(RECIPES["mxfp8"].family.value).run()
    wanted = recipe_list(at, "mxfp8").value
    matmul.set_value("wgrad").run()
    assert at.query_params == {"recipe": wanted, "matmul": "wgrad"}


@pytest.mark.parametrize("page", ["pages/live_gemm.py", "pages/tile_layouts.py", "pages/benchmarks.py"])
def test_the_reader_s_own_recipe_comes_from_the_address(open_app, page):
    line = own_text(RECIPES["nvfp4"])
    at = open_app(page, recipe="own", own=line)
    assert not at.exception
    assert not warnings(at)
    assert at.selectbox(key=FAMILY_KEY).value == Family.OWN.value
    assert at.query_params["own"] == line


def test_a_job_carries_the_own_recipe_and_its_link(open_app):
    line = own_text(RECIPES["mxfp4"])
    at = open_app(PAGE, recipe="own", own=line, matmul="wgrad", **SMALL)
    link = next(link.proto.query_string for link in at.get("page_link") if link.proto.query_string)
    assert "recipe=own" in link
    assert "own=" in link.replace("recipe=own", "")
    assert any("in e2m1, one e8m0 scale" in one.value for one in at.markdown)
    assert MATMULS["wgrad"].title == "Wgrad"


@pytest.mark.parametrize(
    ("line", "said"), [("", "You have no recipe of your own"), ("no recipe", "cannot be read")]
)
@pytest.mark.parametrize("page", ["pages/live_gemm.py", "pages/tile_layouts.py", "pages/benchmarks.py"])
def test_a_line_that_is_missing_or_wrong_is_told_and_the_default_shown(open_app, page, line, said):
    at = open_app(page, recipe="own", **({"own": line} if line else {}))
    assert not at.exception
    assert said in warnings(at)
    assert RECIPES[RECIPE.default].title in warnings(at)


def test_a_hostile_line_stays_text(open_app):
    at = open_app("pages/tile_layouts.py", recipe="own", own="<b>**x**</b> $\\frac{1}{2}$ :red[y]" * 20)
    assert not at.exception
    assert "cannot be read" in warnings(at)
    assert "<b>" not in warnings(at)
