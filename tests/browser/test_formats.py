"""Formats in a real browser: bits flip under a click, the table and the sliders answer."""

import re

import pytest

from fp8core.formats import FORMATS
from tests.browser.handles import center, mouse
from tests.browser.looks import settled

pytestmark = pytest.mark.browser


def chart(page, number: int):
    found = page.locator('[data-testid="stVegaLiteChart"]').nth(number)
    found.locator("svg.marks").first.wait_for()
    page.wait_for_timeout(400)
    return found.locator("svg.marks").first


def flip(bits, place: int) -> None:
    """Click the bit at a place from the left."""
    box = bits.bounding_box()
    bits.click(position={"x": box["width"] * (place + 0.5) / 8, "y": 30})


def test_clicks_flip_bits_and_pick_codes_and_the_address_follows(server, open_page):
    page = open_page(server.url + "/formats?number=0x38")
    bits = chart(page, 0)
    settled(page)
    flip(bits, 7)
    page.wait_for_url(re.compile(r"number=0x39$"))
    page.get_by_text("Code 0x39 is 1.125").wait_for()
    settled(page)
    flip(bits, 0)
    page.wait_for_url(re.compile(r"number=0xb9$"))
    settled(page)
    flip(bits, 7)
    page.wait_for_url(re.compile(r"number=0xb8$"))
    page.get_by_text("Code 0xB8 is −1").wait_for()
    page.locator('path[aria-label*="code: 0x7E"]').hover()
    page.locator("#vg-tooltip-element", has_text="448").wait_for()
    page.locator('path[aria-label*="code: 0xFF"]').click()
    page.wait_for_url(re.compile(r"number=0xff$"))
    page.get_by_text("Code 0xFF is NaN").wait_for()


def test_the_number_snaps_to_the_code_that_the_reference_gives_and_the_line_moves_on_at_its_end(
    server, open_page
):
    page = open_page(server.url + "/formats")
    handle = page.locator(".handle")
    x, y = center(page)
    with mouse(page, (x, y), (x + 200, y)):
        page.wait_for_url(re.compile("number=0.3[34]"))
        e4m3, number = FORMATS["e4m3"], float(handle.get_attribute("aria-valuetext"))
        rounded = float(e4m3.decode(e4m3.encode(number)))
        page.get_by_text(f"becomes {rounded}").wait_for()
        page.mouse.move(x + 800, y, steps=5)
        page.wait_for_url(re.compile(r"number=0\.(375|4)"))
    settled(page)
    page.locator("svg.marks text", has_text="0.4375").first.wait_for()
    assert float(handle.get_attribute("aria-valuetext")) >= 0.375


def test_a_click_on_a_neighbor_or_on_the_strip_takes_that_number(server, open_page):
    page = open_page(server.url + "/formats")
    chart(page, 2)
    for number in ("0.34375", "448"):
        box = page.locator(f'[aria-label*="take: {number}"]').first.bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_url(re.compile(rf"number={number}(\.0)?$"))
        settled(page)


def test_a_finger_beside_a_tick_of_the_strip_takes_the_nearest_number(server, open_page):
    page = open_page(server.url + "/formats?code_format=e2m1", width=390, height=844, touch=True)
    ticks = {one: page.locator(f'[aria-label*="take: {one}"]').last.bounding_box() for one in ("3", "4")}
    near, far = (box["x"] + box["width"] / 2 for box in ticks.values())
    page.touchscreen.tap(near + 0.4 * (far - near), ticks["3"]["y"] + 15)
    page.wait_for_url(re.compile(r"number=3(\.0)?$"))


def test_a_slider_moves_the_bars_first_and_the_address_later(server, open_page):
    page = open_page(server.url + "/formats?formats=gradients")
    chart(page, 0)
    moved, address = page.evaluate(
        """async () => {
            const bar = document.querySelectorAll('[aria-roledescription="rect mark"]')[40];
            const slider = document.querySelector('[data-testid="stVegaLiteChart"] input[type="range"]');
            const before = bar.getBoundingClientRect().x;
            for (let step = 0; step < 5; step++) {
                slider.stepUp();
                slider.dispatchEvent(new Event("input", {bubbles: true}));
            }
            await new Promise(requestAnimationFrame);
            await new Promise(requestAnimationFrame);
            return [Math.abs(bar.getBoundingClientRect().x - before), window.location.search];
        }"""
    )
    assert moved > 5
    assert address == "?formats=gradients", "the server has not been asked yet"
    page.wait_for_url(re.compile("loss_scale=5$"))
    slider = page.locator('[data-testid="stVegaLiteChart"] input[type="range"]')
    slider.press("End")
    page.locator("svg.marks text", has_text=re.compile("^fp16: 0% become 0")).wait_for()
