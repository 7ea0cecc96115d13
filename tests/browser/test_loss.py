"""The loss in a browser: a click on a line's end opens its run, and closing it leaves the address."""

from urllib.parse import parse_qs, urlsplit

import pytest

from pages.loss.controls import OPEN_RUN
from tests.browser.looks import settled

pytestmark = pytest.mark.browser


def test_a_click_on_an_end_opens_its_run_until_it_is_closed(server, open_page):
    page = open_page(server.url + "/loss")
    ends = page.locator('[data-testid="stVegaLiteChart"] svg [class*=" openers"] path')
    ends.first.wait_for(state="attached")
    box = ends.first.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("largest learning rate").wait_for()
    name = parse_qs(urlsplit(page.url).query)[OPEN_RUN.key][0]
    assert name
    dialog.get_by_role("button", name="Close").click()
    dialog.wait_for(state="detached")
    settled(page)
    page.wait_for_url(lambda url: OPEN_RUN.key not in url)
