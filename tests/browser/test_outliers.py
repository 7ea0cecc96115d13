"""Outliers in a browser: maps are pictures in their axes, and tell a region's figures to a pointer."""

import re

import pytest

from tests.browser.looks import in_the_end, listening
from tests.sweeps import exhaustive

pytestmark = pytest.mark.browser

CHART = '[data-testid="stVegaLiteChart"]'
MAPS = f"{CHART} svg.marks image"


def test_a_map_fills_its_axes_and_tells_the_figures_of_a_region(server, open_page):
    page = open_page(server.url + "/outliers?recipes=mxfp8,nvfp4&outliers_size=256x512")
    page.locator(MAPS).nth(1).wait_for(timeout=30_000)
    listening(page)
    assert page.locator(MAPS).count() == 2
    for number in range(2):
        picture = page.locator(MAPS).nth(number)
        assert picture.get_attribute("href").startswith("data:image/png;base64,")
        frame = page.locator(f"{CHART} svg.marks").nth(number).bounding_box()
        box = picture.bounding_box()
        assert box["width"] > frame["width"] / 2
        assert box["height"] > frame["height"] / 3

    tip = page.locator("#vg-tooltip-element")
    page.mouse.move(box["x"] + box["width"] / 2 + 1, box["y"] + box["height"] / 2 + 1)
    assert in_the_end(page, tip.is_visible, bool)
    told = tip.inner_text()
    assert re.search(r"region\s+rows 128…159, columns 256…287", told)
    assert re.search(r"error\s+[\d.]+%", told)


@exhaustive
def test_a_link_holds_what_was_chosen(server, open_page):
    page = open_page(server.url + "/outliers?outliers_show=story")
    page.get_by_role("radio", name="rounded up, codes kept").click()
    page.wait_for_url(re.compile("reading=codes_kept"))
    page.get_by_text("every block grows").first.wait_for(timeout=30_000)
