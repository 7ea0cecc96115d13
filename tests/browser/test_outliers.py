"""Outliers in a browser: maps are pictures in their axes, and tell a region's figures to a pointer."""

import re

import pytest

from tests.browser.looks import in_the_end, listening
from tests.sweeps import exhaustive

pytestmark = pytest.mark.browser

CHART = '[data-testid="stVegaLiteChart"]'
MAPS = f"{CHART} svg.marks image"


def test_maps_fill_their_axes_and_tell_the_figures_of_a_region(server, open_page):
    page = open_page(server.url + "/outliers?recipes=mxfp8,nvfp4&outliers_size=256x512")
    page.locator(MAPS).nth(1).wait_for(timeout=30_000)
    listening(page)
    assert page.locator(MAPS).count() == 2
    frame = page.locator(f"{CHART} svg.marks").bounding_box()
    boxes = [page.locator(MAPS).nth(number).bounding_box() for number in range(2)]
    for number, box in enumerate(boxes):
        assert page.locator(MAPS).nth(number).get_attribute("href").startswith("data:image/png;base64,")
        assert box["width"] > frame["width"] / 2
        assert box["height"] > frame["height"] / 5
    assert boxes[1]["y"] > boxes[0]["y"] + boxes[0]["height"]

    tip = page.locator("#vg-tooltip-element")
    page.mouse.move(box["x"] + box["width"] / 2 + 1, box["y"] + box["height"] / 2 + 1)
    assert in_the_end(page, tip.is_visible, bool)
    told = tip.inner_text()
    assert re.search(r"region\s+rows \d+…\d+, columns \d+…\d+", told)
    assert re.search(r"error\s+[\d.]+%", told)


@exhaustive
def test_a_link_holds_what_was_chosen(server, open_page):
    page = open_page(server.url + "/outliers?outliers_show=story")
    page.get_by_role("combobox", name="The checkpoint is read with").click()
    page.get_by_role("option", name="rounded up, codes kept").click()
    page.wait_for_url(re.compile("reading=codes_kept"))
    page.get_by_text("every block grows").first.wait_for(timeout=30_000)
