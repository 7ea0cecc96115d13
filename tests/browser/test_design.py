"""Page "Design a recipe" in a browser: a list writes the address; a file is loaded, or refused."""

from urllib.parse import parse_qs, urlsplit

import pytest

from fp8core.recipes import RECIPES
from fp8core.recipes.text import from_text, to_json
from fp8core.tiles import WHOLE, TileShape
from pages.design.charts.cells import SHAPES
from tests.browser.looks import in_the_end, listening, settled

pytestmark = pytest.mark.browser


def own(page) -> str:
    """The line in the address."""
    return parse_qs(urlsplit(page.url).query).get("own", [""])[0]


def choose(page, label: str, value: str) -> None:
    """Take an option of a list, by the keyboard: a long list draws only the options in view."""
    box = page.get_by_role("combobox", name=label).first
    box.click()
    box.fill(value)
    page.get_by_role("option", name=value, exact=True).wait_for()
    box.press("Enter")
    settled(page)


def upload(page, text: str) -> None:
    """Give the page a file, as a reader picks one."""
    if not page.locator('input[type="file"]').count():
        if not page.get_by_role("button", name="Load JSON", exact=False).last.is_visible():
            page.get_by_text("More controls", exact=True).click()
        page.get_by_role("button", name="Load JSON", exact=False).last.click()
    page.locator('input[type="file"]').set_input_files(
        {"name": "recipe.json", "mimeType": "application/json", "buffer": text.encode()}
    )


def test_a_click_chooses_an_operand_and_the_handle_pulls_its_tile(server, open_page) -> None:
    page = open_page(f"{server.url}/design?design_from=mxfp8")
    page.locator('path[aria-label*="change: Dgrad dy"]').click(force=True)
    page.wait_for_url(lambda url: "design_cell=dgrad_a" in url)
    settled(page)
    stops = page.locator(".rail_marks path")
    now, wanted = stops.nth(SHAPES.index((1, 32))), stops.nth(SHAPES.index((128, 128)))
    (x, y), (x1, y1) = ((box["x"], box["y"]) for box in (now.bounding_box(), wanted.bounding_box()))
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x1, y1, steps=6)
    page.mouse.up()
    in_the_end(page, lambda: own(page), bool)
    settled(page)
    recipe = from_text(line := own(page))
    assert recipe.dgrad.a.tile == TileShape(128, 128)
    assert recipe.fprop == RECIPES["mxfp8"].fprop
    page.locator(".handle").press("End")
    line = in_the_end(page, lambda: own(page), lambda now: now != line)
    assert from_text(line).dgrad.a.tile == TileShape(WHOLE, WHOLE)


def test_a_list_writes_the_address_and_a_file_fills_the_page(server, open_page) -> None:
    page = open_page(f"{server.url}/design?design_from=mxfp8", fresh=True)
    listening(page)
    choose(page, "Format", "e2m1")
    line = in_the_end(page, lambda: own(page), bool)
    assert from_text(line).fprop.a.format.name == "e2m1"
    upload(page, to_json(RECIPES["nvfp4_1x16"]))
    loaded = in_the_end(page, lambda: own(page), lambda line: "nvfp4_hadamard" in line)
    assert from_text(loaded).wgrad == RECIPES["nvfp4_1x16"].wgrad
    page.reload()
    settled(page)
    assert own(page) == loaded
    upload(page, to_json(RECIPES["mxfp4"]).replace('"e2m1"', '"e9m9"', 1))
    page.get_by_text("fprop.a.format is one of").wait_for()
    assert own(page) == loaded
