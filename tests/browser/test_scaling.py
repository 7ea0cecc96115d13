"""In a real browser the scale moves without Python, and the address follows once it rests."""

import re

import pytest

from pages.scaling.window import notices
from tests.browser.handles import at_rest, center, middle, mouse
from tests.browser.looks import becomes, in_the_end, messages, settled

pytestmark = pytest.mark.browser

CHART = '[data-testid="stVegaLiteChart"]'
SLIDER = f"{CHART} .vega-bind input"
HANDLE = ".handle"
DRAWN_MS = 30_000
PRESSED = """(handle, times) => {
    for (let each = 0; each < times; each++)
        handle.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
}"""
"""An arrow key at the speed of a key held down, however busy the machine is."""


def texts(page) -> list[str]:
    return page.locator(f"{CHART} svg text").all_text_contents()


def decibels(page) -> float:
    """SQNR under the scale at hand, as the picture writes it."""
    return float(next(text for text in texts(page) if text.endswith(" dB")).removesuffix(" dB"))


def wait_for_text(page, text: str) -> None:
    page.locator(f"{CHART} svg text", has_text=re.compile(f"^{text}$")).first.wait_for(timeout=DRAWN_MS)


def wait_for_figure(page, name: str, value: str) -> None:
    page.wait_for_function(
        """([chart, name, value]) => {
            const texts = [...document.querySelectorAll(chart + " svg text")].map((text) => text.textContent);
            return texts[texts.indexOf(name) + 1] === value;
        }""",
        arg=[CHART, name, value],
        timeout=DRAWN_MS,
    )


def bars(page) -> list[float]:
    """Left edges of the histogram's bars, in pixels."""
    return page.evaluate(
        """(chart) => [...document.querySelectorAll(chart + " svg .mark-rect path")]
            .filter((path) => path.getAttribute("opacity") !== "0")
            .map((path) => path.getBoundingClientRect())
            .filter((box) => box.width > 2 && box.width < 12 && box.height > 20 && box.height < 180)
            .map((box) => box.left)""",
        CHART,
    )


def test_the_handle_moves_the_numbers_and_python_hears_once(server, open_page):
    page = open_page("about:blank", wait=False)
    sent, missing = messages(page), []
    page.on("response", lambda response: missing.append(response.url) if response.status == 404 else None)
    page.goto(server.url + "/scaling")
    settled(page)
    handle = page.locator(HANDLE)
    handle.wait_for(timeout=DRAWN_MS)
    wait_for_text(page, "0.0 dB")
    wait_for_text(page, "100%")
    before, heard = bars(page), len(sent)
    handle.evaluate(PRESSED, 72)
    page.wait_for_function("slider => document.querySelector(slider).value === '-18'", arg=SLIDER)
    assert in_the_end(page, lambda: decibels(page), lambda found: found > 30) > 30
    assert "100%" not in texts(page)
    assert min(bars(page)) > min(before) + 100
    page.wait_for_url(re.compile(r"scaling_log2=-18\.0$"), timeout=DRAWN_MS)
    settled(page)
    assert handle.get_attribute("aria-valuetext").startswith("scale 2^-18: ")
    assert len(sent) - heard < 36, "half of the steps or more went to Python"
    assert missing == [], "a page's own address finds the server at once"


def test_a_click_on_a_bar_moves_nothing_and_numbers_and_notice_follow_a_hand(server, open_page):
    # In the session of an earlier test, the position that this has left may come back late.
    page = open_page(f"{server.url}/scaling", height=1500, fresh=True)
    page.locator(HANDLE).wait_for()
    settled(page)
    tallest = page.locator(f"{CHART} svg path[aria-label*='share of the numbers']").evaluate_all(
        "bars => bars.map(bar => bar.getBoundingClientRect()).sort((a, b) => b.height - a.height)[0]"
    )
    page.mouse.click(*middle(tallest))
    page.wait_for_timeout(1000)
    settled(page)
    assert "scaling_log2" not in page.url, page.url
    wait_for_text(page, "become 0")
    before, chart = min(bars(page)), page.locator(f"{CHART} svg").first.bounding_box()
    x, y = chart["x"] + 300, chart["y"] + 120
    with mouse(page, (x, y), (x + 400, y)):
        becomes(page, lambda: min(bars(page)), pytest.approx(before + 400, abs=20))
        at = float(page.locator(SLIDER).input_value())
        words = notices(("e4m3", "gradient_like", "dy", 0))[at].replace("*", "")
        notice = page.locator(".st-key-view_notice p >> visible=true")
        assert notice.inner_text() == words, "while the button is down"
    page.wait_for_url(re.compile(rf"scaling_log2={re.escape(str(at))}"))
    page.locator(".fp8-live").wait_for(state="detached")
    assert notice.inner_text() == words, "from Python"


def test_dragging_across_the_curve_is_the_slider(server, open_page):
    page = open_page(server.url + "/scaling?scaling_input=gaussian", height=1500)
    slider = page.locator(SLIDER)
    page.locator(HANDLE).wait_for(timeout=DRAWN_MS)
    wait_for_text(page, "become 0")
    title = page.locator(f"{CHART} svg text", has_text="SQNR (dB) at every scale").bounding_box()
    chart = page.locator(f"{CHART} svg").first.bounding_box()
    y, left, right = title["y"] + 80, chart["x"] + 60, chart["x"] + chart["width"] / 4
    low, high = float(slider.get_attribute("min")), float(slider.get_attribute("max"))
    pointed = pytest.approx(low + (right - chart["x"]) / chart["width"] * (high - low), abs=0.5)
    with mouse(page, (left, y), (right, y)):
        becomes(page, lambda: float(slider.input_value()), pointed)
    page.wait_for_url(re.compile(rf"scaling_log2={re.escape(str(float(slider.input_value())))}"))
    page.get_by_role("button", name="amax scale").click()
    page.wait_for_function("slider => document.querySelector(slider)?.value === '-7'", arg=SLIDER)


def test_a_hand_on_any_rule_moves_the_block_through_all(server, open_page):
    page = open_page(server.url + "/scaling?scaling=rules&scaling_one=1.25")
    page.locator(HANDLE).wait_for(timeout=DRAWN_MS)
    wait_for_text(page, "amax 1.25, scale 0.00279 → 448")
    marks = page.locator('svg.marks [class*=" third_"] path')
    at_once = marks.evaluate_all("marks => marks.map(mark => mark.getBoundingClientRect())")
    begin, end = (sorted(at_once, key=lambda box: box["x"])[place] for place in (8, 3))
    with mouse(page, *((box["x"], box["y"] + 30) for box in (begin, end))):
        wait_for_text(page, "scale 2⁻⁷ → 240")
        assert {"scale 2⁻⁸ → 480", "amax 1.875, scale 0.004185 → 448"} <= set(texts(page))
    page.wait_for_url(re.compile(r"scaling_one=1\.875$"), timeout=DRAWN_MS)


def test_a_hand_moves_the_step_on_show_and_the_address_keeps_it(server, open_page):
    page = open_page(
        server.url + "/scaling?scaling=delayed&scaling_series=spikes&scaling_steps=16", height=1500
    )
    page.locator(HANDLE).wait_for(timeout=DRAWN_MS)
    at_rest(page, page.locator(HANDLE))
    marks = page.locator('svg.marks [class*=" rail_"] path')
    eighth = marks.evaluate_all(
        "all => all.find(one => one.__data__.datum.at === 8).getBoundingClientRect().x"
    )
    x, y = center(page, HANDLE)
    with mouse(page, (x, y), (eighth, y)):
        wait_for_figure(page, "step", "8")
    page.wait_for_url(re.compile(r"scaling_step=8$"), timeout=DRAWN_MS)
