"""Outliers in a browser: error maps are pictures in their axes, and a telephone shows each one's format."""

import pytest

from tests.browser.looks import TELEPHONE, listening

pytestmark = pytest.mark.browser

CHART = '[data-testid="stVegaLiteChart"] svg.marks'


@pytest.mark.parametrize("width", [1280, TELEPHONE])
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
        assert box["height"] > frame["height"] / 6
    assert boxes[1]["y"] > boxes[0]["y"] + boxes[0]["height"]
    words = [word for word in page.locator(f"{CHART} text").all_text_contents() if word]
    assert [word for word in words if word.endswith("bits")] == ["8 bits", "4 bits"]
    assert {"e4m3, 1 × 32", "e2m1, 1 × 32"} <= set(words)
