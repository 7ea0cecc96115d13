"""Page "Design a recipe" in a browser: a list writes the address; a file is loaded, or refused."""

from urllib.parse import parse_qs, urlsplit

import pytest

from fp8core.recipes import RECIPES
from fp8core.recipes.text import from_text, to_json
from fp8core.tiles import WHOLE, TileShape
from pages.design.charts.cells import SCALE_FORMATS, SHAPES
from pages.design.draft import draft_of
from tests.browser.handles import at_rest, center, click_mark, mouse
from tests.browser.looks import in_the_end, listening, settled, unfold

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
            unfold(page, "More controls")
        page.get_by_role("button", name="Load JSON", exact=False).last.click()
    page.locator('input[type="file"]').set_input_files(
        {"name": "recipe.json", "mimeType": "application/json", "buffer": text.encode()}
    )


def test_a_click_chooses_an_operand_and_the_handle_pulls_its_tile(server, open_page) -> None:
    page = open_page(f"{server.url}/design?design_from=mxfp8")
    listening(page)
    click_mark(page, page.locator('path[aria-label*="change: Dgrad dy"]'))
    page.wait_for_url(lambda url: "design_cell=dgrad_a" in url)
    settled(page)
    stops = page.locator(".rail_marks path")
    now, wanted = stops.nth(SHAPES.index((1, 32))), stops.nth(SHAPES.index((128, 128)))
    at_rest(page, now)
    with mouse(page, center(page, now), center(page, wanted)):
        pass
    square = TileShape(128, 128)
    line = in_the_end(page, lambda: own(page), lambda line: line and from_text(line).dgrad.a.tile == square)
    recipe = from_text(line)
    assert recipe.dgrad.a.tile == square
    settled(page)
    assert recipe.fprop == RECIPES["mxfp8"].fprop
    page.get_by_role("slider", name="Tile").press("End")
    whole = TileShape(WHOLE, WHOLE)
    line = in_the_end(page, lambda: own(page), lambda now: from_text(now).dgrad.a.tile == whole)
    assert from_text(line).dgrad.a.tile == whole


def test_the_format_of_a_scale_is_pulled_clicked_and_stepped_by_keys(server, open_page) -> None:
    page = open_page(f"{server.url}/design?design_from=mxfp8&design_cell=wgrad_b")

    hand, stops = page.get_by_role("slider", name="Format of its scale"), page.locator(".strip_marks path")

    def becomes(name: str) -> None:
        def now() -> str:
            return draft_of(own(page), "mxfp8").data["wgrad"]["b"]["scale"]["format"]

        assert in_the_end(page, now, lambda scale: scale == name) == name
        in_the_end(page, lambda: hand.get_attribute("aria-valuetext"), lambda words: words.endswith(name))

    (x, y), (x1, y1) = (
        (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        for box in (hand.bounding_box(), stops.nth(SCALE_FORMATS.index("fp32")).bounding_box())
    )
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x1, y1, steps=6)
    page.mouse.up()
    becomes("fp32")
    line = in_the_end(page, lambda: own(page), bool)
    assert from_text(line).wgrad.b.tile == RECIPES["mxfp8"].wgrad.b.tile
    click_mark(page, page.locator('path[aria-label*="Wgrad x: scales in e4m3"]'))
    becomes("e4m3")
    hand.press("ArrowLeft")
    becomes("e8m0")
    page.reload()
    settled(page)
    assert hand.get_attribute("aria-valuetext") == "Wgrad x: scales in e8m0"


def test_a_list_writes_the_address_and_a_file_fills_the_page(server, open_page) -> None:
    # So tall that nothing scrolls: a popover closes when what is around it does.
    page = open_page(f"{server.url}/design?design_from=mxfp8", height=1500)
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
