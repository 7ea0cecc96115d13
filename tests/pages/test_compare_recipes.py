"""Contract: recipes side by side, chosen in the address; accuracy against tile size."""

import re

from fp8core.recipes import RECIPES, Family
from fp8core.recipes.text import to_text
from tests.pages.texts import notice

PAGE = "pages/compare_recipes.py"


def alt(at) -> str:
    (chart,) = at.get("vega_lite_chart")
    return chart.proto.alt


def test_the_table_shows_the_recipes_of_the_address(open_app) -> None:
    at = open_app(PAGE, differ_recipes="mxfp8,per_tensor")
    assert not at.exception
    assert notice(at).endswith("and with **31** in MXFP8.")
    assert re.findall(r"(MXFP8|Per tensor, hybrid): x", alt(at)) == ["MXFP8", "Per tensor, hybrid"]
    at.selectbox(key="differ_family").set_value("two_level").run()
    assert at.query_params == {"differ_recipes": "mxfp8,per_tensor", "differ_family": "two_level"}
    titles = [recipe.title for recipe in RECIPES.values() if recipe.family is Family.TWO_LEVEL]
    assert all(f"{title}: x" in alt(at) for title in titles)


def test_the_reader_s_own_recipe_stands_beside_published_ones(open_app) -> None:
    own = to_text(RECIPES["mxfp8"])
    at = open_app(PAGE, differ_recipes="own,rowwise", own=own)
    assert not at.exception
    assert not at.warning
    assert re.findall(r"(Yours|Per row): x", alt(at)) == ["Yours", "Per row"]


def test_an_own_recipe_that_is_not_there_is_told_and_the_others_stay(open_app) -> None:
    at = open_app(PAGE, differ_recipes="own,rowwise")
    assert not at.exception
    assert "no recipe of your own" in at.warning[0].value
    assert at.warning[0].value.endswith(". Shown are the others.")
    assert re.findall(r"(Yours|Per row): x", alt(at)) == ["Per row"]
    alone = open_app(PAGE, differ_recipes="own")
    assert alone.warning[0].value.endswith(". Shown instead are those with which the page opens.")
    assert "DeepSeek-V3: x" in alt(alone)


def test_the_second_section_says_what_small_tiles_buy(open_app) -> None:
    at = open_app(PAGE, differ_show="size")
    assert not at.exception
    assert notice(at).startswith(
        "Tiles of 8 instead of 512 take the error of the smaller half from 99.96% to **"
    )
    assert notice(at).endswith("for 3.9 more bits per element.")
    assert "fp32, k × k" in alt(at)
    at.selectbox(key="differ_format").set_value("e4m3").run()
    assert any("hardly depends on its scale" in one.value for one in at.markdown)
