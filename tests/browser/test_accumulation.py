"""Accumulation in a browser: the handle steps through k, bars tell their bits, all without the server."""

import re

import numpy as np
import pytest

from pages.accumulation.charts.steps import StepScene, one_columns
from pages.accumulation.data import traced
from pages.accumulation.facts import START
from pages.kit.charts.words import short
from tests.browser.handles import HANDLE, at_rest, click_mark, middle, mouse, value_in
from tests.browser.looks import in_the_end, listening, messages, settled

pytestmark = pytest.mark.browser

CHART = '[data-testid="stVegaLiteChart"]'


def shown(page, text: str) -> None:
    page.locator(f"{CHART} text", has_text=re.compile(text)).first.wait_for(timeout=30_000)


def test_the_handle_steps_through_k_and_bars_tell_what_they_lose(server, open_page):
    page = open_page(server.url + "/accumulation?terms=one_large&step=1")
    sent = messages(page)
    shown(page, "^Step 1 of 8: products 0 to 31 and c = 0$")
    shown(page, r"^E = 2⁸$")
    listening(page)
    handle = page.locator(HANDLE)
    handle.focus()
    handle.press("ArrowRight")
    shown(page, "^Step 2 of 8: products 32 to 63 and c = 265.9")
    handle.press("End")
    shown(page, "^Step 8 of 8: products 224 to 255")
    page.wait_for_url(re.compile("step=8$"))
    settled(page)
    before = len(sent)

    box = page.locator(f"{CHART} svg").bounding_box()
    tip = page.locator("#vg-tooltip-element")
    for across in range(10, 90):
        page.mouse.move(box["x"] + box["width"] * across / 100, box["y"] + 180)
        if tip.is_visible() and "product k = " in tip.inner_text():
            break
    told = tip.inner_text()
    assert re.search(r"product k = 2[2-5]\d", told)
    assert re.search(r"lost share\s+[\d.]+%", told)
    assert len(sent) == before, "pointing needs no server"


def test_pointing_and_clicking_a_name_leaves_its_line(server, open_page):
    page = open_page(server.url + "/accumulation?sum_show=curves&longest_k=1024")
    shown(page, "Hopper FP8, one chain")
    faint = f'{CHART} svg path[opacity="0.12"]'
    assert page.locator(faint).count() == 0
    click_mark(page, page.locator(f"{CHART} text", has_text="Ada FP8").first)
    page.locator(faint).first.wait_for(timeout=30_000, state="attached")
    assert page.locator(faint).count() > 10


BELOW = """() => {
    const svg = document.querySelector('svg.marks'), end = svg.getBoundingClientRect().bottom;
    return Math.max(...[...svg.querySelectorAll('.mark-symbol path')].map(
        path => path.getBoundingClientRect().bottom)) - end}"""
"""Pixels by which a mark hangs out of the picture."""


def test_play_adds_along_k_to_its_end_where_the_ring_lies_inside_the_picture(server, open_page):
    page = open_page(f"{server.url}/accumulation?terms=one_large&step=6")
    shown(page, "^Step 6 of 8")
    page.locator("button.play").click()
    shown(page, "^Step 8 of 8: products 224 to 255")
    page.wait_for_url(re.compile("step=8$"))
    assert page.locator("button.play").get_attribute("aria-label").startswith("Play")
    assert in_the_end(page, lambda: page.evaluate(BELOW), lambda pixels: pixels <= 0) <= 0


def falling(page) -> list[int]:
    """The bits that fall, frame by frame, while the handle takes a step."""
    return page.locator(HANDLE).evaluate(
        """handle => new Promise(done => { const seen = [], began = performance.now();
            const look = now => {
                seen.push(document.querySelectorAll('svg.marks [class*="falling"] path').length);
                if (now - began < 1500) requestAnimationFrame(look); else done(seen); };
            handle.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
            requestAnimationFrame(look); })"""
    )


def test_bits_below_the_window_fall_once_a_step_and_rest_for_who_asks_so(server, open_page):
    steps = traced("hopper_fast", "same_sign", "e4m3", 256, 0)
    drawn = one_columns(StepScene(steps, 500, plain=steps))
    cut = int(np.count_nonzero((drawn["step"] == 7) & ~drawn["is_kept"]))
    page = open_page(f"{server.url}/accumulation?step=6")
    shown(page, "^Step 6 of 8")
    listening(page)
    seen = falling(page)
    shown(page, "^Step 7 of 8")
    assert max(seen) == cut > 0
    assert seen[-1] == 0
    page.emulate_media(reduced_motion="reduce")
    assert max(falling(page)) == 0
    shown(page, "^Step 8 of 8")


def test_c_is_pulled_up_by_mouse_and_keys_and_the_window_follows(server, open_page):
    page = open_page(f"{server.url}/accumulation?step=5")
    shown(page, r"^E = 2⁵$")
    settled(page)
    c, step = page.locator(".handle.up"), page.locator(HANDLE)
    (x, y), at = middle(at_rest(page, c)), at_rest(page, step)
    with mouse(page, (x, y), (x, y - 200)):
        shown(page, r"^E = 2⁸$")
    page.wait_for_url(lambda url: value_in(url, START.key) == "8")
    settled(page)
    assert c.get_attribute("aria-valuetext") == "c starts with 2⁸"
    chain = traced("hopper_fast", "same_sign", "e4m3", 256, 0, 2.0**8)[4].chain
    shown(page, f"^{re.escape(short(chain, 6))}$")
    assert at_rest(page, step) == at, "the other handle stays"
    c.press("ArrowDown")
    page.wait_for_url(lambda url: value_in(url, START.key) == "7")
    c.press("Home")
    page.wait_for_url(lambda url: value_in(url, START.key) is None)
    shown(page, r"^E = 2⁵$")
