"""Page "Compare recipes" in a browser: a click on a recipe's tiles opens them."""

import re

import pytest
from playwright.sync_api import Locator

from fp8core.recipes import RECIPES
from tests.browser.handles import center, click_mark, position, value_in
from tests.browser.looks import listening, settled
from tests.sweeps import exhaustive

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    ("column", "opened", "words"),
    [
        ("a cell of copies", "/tile_layouts?show=copies&recipe=nvfp4", "5 copies"),
        ("dy for Wgrad", "recipe=nvfp4&matmul=wgrad", "A = dyᵀ"),
        pytest.param(
            *(
                "a cell of scales",
                "/scaling?scaling=rules&scaling_element=e2m1",
                "Floor clips the largest number",
            ),
            marks=exhaustive,
        ),
    ],
)
def test_a_click_in_another_column_opens_what_it_shows(server, open_page, column, opened, words) -> None:
    page = open_page(f"{server.url}/compare_recipes")
    listening(page)
    click_mark(page, page.locator(f'path[aria-label*="{column}"]').last)
    page.wait_for_url(lambda url: opened in url)
    settled(page)
    page.get_by_text(words).first.wait_for()


@pytest.mark.parametrize("width", [1280, 390])
def test_a_click_on_a_recipes_name_opens_the_recipe(server, open_page, width) -> None:
    page = open_page(f"{server.url}/compare_recipes", width=width)
    listening(page)
    click_mark(page, page.locator("svg.marks text", has_text=re.compile("^MXFP8$")))
    page.wait_for_url(lambda url: "/tile_layouts" in url and "recipe=mxfp8" in url)
    settled(page)


def test_the_tile_of_a_dragged_number_is_outlined_in_each_recipe(server, open_page) -> None:
    page = open_page(f"{server.url}/compare_recipes?differ_recipes=mxfp8.nvfp4&differ_number=4")
    listening(page)
    x, y = center(page, page.locator("g.gold_marks path").last)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 200, y, steps=5)
    _, words = position(page)
    column = int(re.search(r", (\d+)\]", words)[1])
    assert column > 60, "while the button is down"
    lefts = [box["x"] for box in map(Locator.bounding_box, page.locator("g.gold_marks path").all())]
    assert lefts[0] == lefts[1]
    assert lefts[0] == pytest.approx(x + 200, abs=12)
    page.mouse.up()
    page.wait_for_url(lambda url: value_in(url, "differ_number") == str(column))


def test_a_click_on_tiles_opens_them_in_tile_layouts(server, open_page) -> None:
    page = open_page(f"{server.url}/compare_recipes")
    listening(page)
    title = RECIPES["mxfp8"].title
    click_mark(page, page.locator(f'path[aria-label*="{title}: x["]').nth(5))
    page.wait_for_url(lambda url: "/tile_layouts" in url and "recipe=mxfp8" in url)
    settled(page)
    page.get_by_text(f"A = x in {RECIPES['mxfp8'].fprop.a.format.name}, tiles of 1 × 32").wait_for()
