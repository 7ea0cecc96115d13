"""Outliers in a browser: error maps are pictures in their axes, and a telephone shows each one's format."""

import pytest

from fp8core.formats import FORMATS
from pages.outliers.codes import lines
from pages.outliers.controls import EVERY, FACTOR, NUMBERS
from pages.outliers.data import CORNER, codes_of, error_map, source_of
from pages.outliers.subject import percent
from tests.browser.handles import HANDLE, at_rest, center, mouse, pull, value_in
from tests.browser.looks import TELEPHONE, in_the_end, listening, settled
from tests.sweeps import exhaustive

pytestmark = pytest.mark.browser

CHART = '[data-testid="stVegaLiteChart"] svg.marks'


@pytest.mark.parametrize("width", [TELEPHONE, pytest.param(1280, marks=exhaustive)])
def test_maps_fill_their_axes_below_their_bits(server, open_page, width):
    page = open_page(server.url + "/outliers?recipes=mxfp4,mxfp8&outliers_size=256x512", width=width)
    maps = page.locator(f"{CHART} image")
    maps.nth(1).wait_for(timeout=30_000)
    listening(page)
    frame = page.locator(CHART).bounding_box()
    boxes = [maps.nth(number).bounding_box() for number in range(2)]
    for number, box in enumerate(boxes):
        assert maps.nth(number).get_attribute("href").startswith("data:image/png;base64,")
        assert box["width"] > frame["width"] / 2
        assert box["height"] > frame["height"] / 7
    assert boxes[1]["y"] > boxes[0]["y"] + boxes[0]["height"]
    words = [word for word in page.locator(f"{CHART} text").all_text_contents() if word]
    assert [word for word in words if word.endswith("bits")] == ["8 bits", "4 bits"]
    assert {"e4m3, 1 × 32", "e2m1, 1 × 32"} <= set(words)


def test_the_maps_follow_the_hand_that_still_holds_the_outlier(server, open_page):
    page = open_page(server.url + "/outliers?recipes=mxfp4&outliers_size=256x512")
    page.wait_for_selector(HANDLE)
    page.locator(f"{CHART} image").wait_for(timeout=30_000)
    page.locator(CHART).evaluate("chart => { chart.dataset.kept = 'yes' }")
    x, y = center(page)
    with mouse(page, (x, y), (x, y + 40)):
        page.wait_for_url(lambda url: value_in(url, FACTOR.key) is not None)
        factor = int(page.locator(HANDLE).get_attribute("aria-valuetext").split()[1])
        assert factor < 50
        assert_share(page, factor)
        assert page.locator(CHART).get_attribute("data-kept") == "yes", "the picture is not built anew"


def assert_share(page, factor: int, *every: int) -> None:
    """Wait until the picture says how many numbers MXFP4 loses to outliers so large, and so far apart."""
    source = source_of("outlier_channels", "fprop_a", (256, 512), 0, factor, *every)
    share = percent(error_map("mxfp4", "fprop_a", source).zeros)
    words = in_the_end(page, page.locator(f"{CHART} text").all_text_contents, lambda now: share in now)
    assert share in words


def test_outliers_come_nearer_to_each_other_along_the_ruler(server, open_page):
    page = open_page(server.url + "/outliers?recipes=mxfp4&outliers_size=256x512")
    hand = page.get_by_role("slider", name=EVERY.label)
    page.locator(f"{CHART} image").wait_for(timeout=30_000)
    at_rest(page, hand)
    x, _ = center(page, hand)
    to_32 = x - page.locator(f"{CHART} image").bounding_box()["width"] * (EVERY.default - 32) / CORNER[1]
    pull(page, hand, to_32 - x, 0)
    page.wait_for_url(lambda url: value_in(url, EVERY.key) == "32")
    assert value_in(page.url, FACTOR.key) is None, "the other handle stays"
    assert_share(page, 50, 32)
    hand.press("ArrowRight")
    page.wait_for_url(lambda url: value_in(url, EVERY.key) == "48")
    settled(page)
    assert hand.get_attribute("aria-valuetext") == "an outlier every 48 channels"


def test_a_click_on_a_map_shows_the_codes_of_its_tile(server, open_page):
    page = open_page(server.url + "/outliers?recipes=mxfp4,mxfp8&outliers_size=256x512")
    maps = page.locator(f"{CHART} image")
    maps.nth(1).wait_for(timeout=30_000)
    source = source_of("outlier_channels", "fprop_a", (256, 512), 0, 50)
    part, box = error_map("mxfp4", "fprop_a", source), maps.nth(1).bounding_box()
    row, column = part.rows[20], part.columns[50]
    page.mouse.click(
        box["x"] + box["width"] * 50.5 / len(part.columns), box["y"] + box["height"] * 20.5 / len(part.rows)
    )
    page.wait_for_url(lambda url: value_in(url, NUMBERS.key) == f"1.{row}.{column}")
    codes = codes_of("mxfp4", "fprop_a", source, row, column)
    table = page.locator("table").filter(has_text="code × scale")
    table.wait_for()
    for line, cells in zip(lines(FORMATS["e2m1"], codes), table.locator("tbody tr").all(), strict=True):
        assert cells.locator("td").all_text_contents() == line
    page.get_by_role("button", name="Close").click()
    table.wait_for(state="detached")
    assert value_in(page.url, NUMBERS.key) is None
