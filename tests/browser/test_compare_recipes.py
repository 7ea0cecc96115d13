"""Page "Compare recipes" in a browser: a click on a recipe's tiles opens them."""

import pytest

from fp8core.recipes import RECIPES
from tests.browser.looks import settled

pytestmark = pytest.mark.browser


def test_a_click_on_tiles_opens_them_in_tile_layouts(server, open_page) -> None:
    page = open_page(f"{server.url}/compare_recipes")
    title = RECIPES["mxfp8"].title
    page.locator(f'path[aria-label*="{title}: x["]').nth(5).click(force=True)
    page.wait_for_url(lambda url: "/tile_layouts" in url and "recipe=mxfp8" in url)
    settled(page)
    page.get_by_text(f"A = x in {RECIPES['mxfp8'].fprop.a.format.name}, tiles of 1 × 32").wait_for()
