"""Benchmarks in a browser: a hover that asks nobody."""

import re

import pytest

from tests.browser.looks import messages
from tests.sweeps import exhaustive

pytestmark = pytest.mark.browser

DRAW_MS = 30_000


@exhaustive
def test_a_point_says_what_it_measured_without_a_rerun(server, open_page):
    page = open_page(server.url + "/benchmarks", height=1400)
    sent = messages(page)
    points = page.get_by_label(re.compile("times as fast as torch's op"))
    points.first.wait_for(timeout=DRAW_MS)
    asked = len(sent)
    points.first.hover()
    hover = page.locator("#vg-tooltip-element")
    hover.get_by_text("times as fast as torch's op").wait_for()
    told = hover.inner_text()
    assert re.search(r"Recorded on NVIDIA H200, \d{4}-\d\d-\d\d, torch", told)
    assert re.search(r"\d+ MHz, \d+ W", told)
    assert len(sent) == asked
