"""Page "Compare recipes" in a browser: a click on a recipe's tiles opens them."""

import pytest

from fp8core.recipes import RECIPES
from tests.browser.looks import listening, settled
from tests.sweeps import exhaustive

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    ("column", "opened", "words"),
    [
        ("copies", "/tile_layouts?show=copies&recipe=nvfp4", "5 copies"),
        pytest.param(
            *("scales", "/scaling?scaling=rules&scaling_element=e2m1", "Floor clips the largest number"),
            marks=exhaustive,
        ),
    ],
)
def test_a_click_in_another_column_opens_what_it_shows(server, open_page, column, opened, words) -> None:
    page = open_page(f"{server.url}/compare_recipes")
    listening(page)
    page.locator(f'path[aria-label*="a cell of {column}"]').last.click(force=True)
    page.wait_for_url(lambda url: opened in url)
    settled(page)
    page.get_by_text(words).first.wait_for()


def test_a_click_on_tiles_opens_them_in_tile_layouts(server, open_page) -> None:
    page = open_page(f"{server.url}/compare_recipes")
    listening(page)
    title = RECIPES["mxfp8"].title
    page.locator(f'path[aria-label*="{title}: x["]').nth(5).click(force=True)
    page.wait_for_url(lambda url: "/tile_layouts" in url and "recipe=mxfp8" in url)
    settled(page)
    page.get_by_text(f"A = x in {RECIPES['mxfp8'].fprop.a.format.name}, tiles of 1 × 32").wait_for()
