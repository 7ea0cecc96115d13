"""Formats in a real browser: bits flip under a click, the table and the sliders answer."""

import re

import pytest

from tests.browser.conftest import settled

pytestmark = pytest.mark.browser


def chart(page, number: int):
    found = page.locator('[data-testid="stVegaLiteChart"]').nth(number)
    found.locator("svg.marks").first.wait_for()
    page.wait_for_timeout(400)
    return found.locator("svg.marks").first


def pixels(page, number: int) -> bytes:
    return chart(page, number).screenshot()


def test_clicks_flip_bits_and_pick_codes_and_the_address_follows(server, open_page):
    page = open_page(server.url + "/formats?number=0x38")
    bits = chart(page, 0)
    bits.click(position={"x": 56 * 7.5, "y": 20})
    page.wait_for_url(re.compile(r"number=0x39$"))
    page.get_by_text("Code 0x39 is 1.125").wait_for()
    bits.click(position={"x": 56 * 0.5, "y": 20})
    page.wait_for_url(re.compile(r"number=0xb9$"))
    bits.click(position={"x": 56 * 7.5, "y": 20})
    page.wait_for_url(re.compile(r"number=0xb8$"))
    page.get_by_text("Code 0xB8 is −1").wait_for()
    page.locator('path[aria-label*="code: 0xFF"]').click()
    page.wait_for_url(re.compile(r"number=0xff$"))
    page.get_by_text("Code 0xFF is NaN").wait_for()


def test_two_quick_clicks_flip_two_bits(server, open_page):
    page = open_page(server.url + "/formats?number=0x00")
    bits = chart(page, 0)
    for place in (1, 2, 5):
        bits.click(position={"x": 56 * (place + 0.5), "y": 20})
    page.wait_for_url(re.compile(r"number=0x64$"))


def test_the_keyboard_flips_a_bit(server, open_page):
    page = open_page(server.url + "/formats?number=0x38")
    page.get_by_role("button", name="Bits").press("Enter")
    page.get_by_role("button", name="M0", exact=True).press("Enter")
    page.wait_for_url(re.compile(r"number=0x39$"))


@pytest.mark.parametrize("section", ["gradients", "range"])
def test_a_slider_redraws_without_python(server, open_page, section):
    page = open_page(server.url + f"/formats?formats={section}")
    before = pixels(page, 0)
    runs: list[str] = []
    page.on("websocket", lambda socket: runs.append(socket.url))
    slider = page.locator('[data-testid="stVegaLiteChart"] input[type="range"]').first
    slider.focus()
    for _ in range(5):
        slider.press("ArrowRight")
    page.wait_for_timeout(300)
    assert pixels(page, 0) != before
    assert runs == []


@pytest.mark.parametrize("width", [800, 1280])
@pytest.mark.parametrize("section", ["code", "compare", "range", "gradients", "overflow"])
def test_no_chart_is_wider_than_its_column(server, open_page, width, section):
    page = open_page(server.url + f"/formats?formats={section}", width=width)
    settled(page)
    page.wait_for_timeout(800)
    column = page.locator('[data-testid="stMainBlockContainer"]').bounding_box()
    charts = page.locator('[data-testid="stVegaLiteChart"] svg.marks').all()
    assert charts
    for drawn in charts:
        box = drawn.bounding_box()
        assert box["x"] + box["width"] <= column["x"] + column["width"] + 1
