"""Page "Compare recipes" in a browser: a click on a recipe's tiles opens them."""

import re

import pytest
from playwright.sync_api import Locator

from tests.browser.handles import center, click_mark, mouse, position, value_in
from tests.browser.looks import listening, settled
from tests.sweeps import some_cases

pytestmark = pytest.mark.browser


LAPTOP, TELEPHONE = 1280, 390
ONE_SCALE = "Which elements share one scale?"
OF_X = "A = x in e4m3, tiles of 1 × 32"
NAME, RECIPE = 'svg.marks text:text-is("MXFP8")', "/tile_layouts recipe=mxfp8"
CLICKS = {
    "copies": (LAPTOP, "a cell of copies", "/tile_layouts show=copies recipe=nvfp4", "5 copies"),
    "a reader": (LAPTOP, "dy for Wgrad", "recipe=nvfp4 matmul=wgrad", "A = dyᵀ"),
    "tiles": (LAPTOP, "MXFP8: x[", RECIPE, OF_X),
    "a name": (LAPTOP, NAME, RECIPE, ONE_SCALE),
    "a name, narrow": (TELEPHONE, NAME, RECIPE, ONE_SCALE),
    "scales": (
        LAPTOP,
        "a cell of scales",
        "/scaling scaling=rules scaling_element=e2m1",
        "Floor clips the largest",
    ),
}
"""The screen's width, a mark by its words, what the address has then, and words of that page."""


@pytest.mark.parametrize(("width", "mark", "opened", "words"), some_cases(2, CLICKS))
def test_a_click_opens_what_it_shows(server, open_page, width, mark, opened, words) -> None:
    page = open_page(f"{server.url}/compare_recipes", width=width)
    listening(page)
    click_mark(page, page.locator(mark if mark is NAME else f'path[aria-label*="{mark}"] >> nth=-1'))
    page.wait_for_url(lambda url: all(part in url for part in opened.split()))
    settled(page)
    page.get_by_text(words).first.wait_for()


def test_the_tile_of_a_dragged_number_is_outlined_in_each_recipe(server, open_page) -> None:
    page = open_page(f"{server.url}/compare_recipes?differ_recipes=mxfp8.nvfp4&differ_number=4")
    listening(page)
    x, y = center(page, page.locator("g.gold_marks path").last)
    with mouse(page, (x, y), (x + 200, y)):
        _, words = position(page)
        column = int(re.search(r", (\d+)\]", words)[1])
        assert column > 60, "while the button is down"
        lefts = [box["x"] for box in map(Locator.bounding_box, page.locator("g.gold_marks path").all())]
        assert lefts[0] == lefts[1]
        assert lefts[0] == pytest.approx(x + 200, abs=12)
    page.wait_for_url(lambda url: value_in(url, "differ_number") == str(column))
