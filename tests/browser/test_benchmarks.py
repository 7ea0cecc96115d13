"""Benchmarks in a browser: every section in both themes, its charts drawn, and a hover that asks nobody."""

import re

import pytest

from tests.browser.looks import listening, settled
from tests.sweeps import exhaustive

pytestmark = pytest.mark.browser

DRAW_MS = 30_000


@exhaustive
def test_a_point_says_what_it_measured_without_a_rerun(server, open_page):
    page = open_page(server.url + "/benchmarks", height=1400)
    sent = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda _: sent.append(1)))
    page.reload()
    settled(page)
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


@exhaustive
def test_the_sections_and_their_links_show_their_own_chart(server, open_page):
    page = open_page(server.url + "/benchmarks")
    page.get_by_role("radio", name="Roofline").click()
    page.wait_for_url(re.compile("bench_show=roofline"))
    listening(page)
    points = page.locator('[data-testid="stVegaLiteChart"] .mark-symbol.role-mark path')
    points.first.wait_for(timeout=DRAW_MS)
    points.last.hover()
    page.locator("#vg-tooltip-element").get_by_text("operations per byte").wait_for()
    page.get_by_role("radio", name="Cost of a scale").click()
    page.wait_for_url(re.compile("bench_show=cost"))
    page.get_by_text("times as long").wait_for(timeout=DRAW_MS)
