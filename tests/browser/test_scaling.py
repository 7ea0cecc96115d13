"""In a real browser the scale moves without Python, and the address follows once it rests."""

import re

import pytest

from pages.scaling.charts.delayed import ROOM
from tests.browser.looks import in_the_end, settled
from tests.sweeps import exhaustive

pytestmark = pytest.mark.browser

CHART = '[data-testid="stVegaLiteChart"]'
SLIDER = f"{CHART} .vega-bind input"
HANDLE = ".handle"
DRAWN_MS = 30_000


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


def runs(page) -> list[str]:
    """Collects a line for every message that the page sends to Python from now on."""
    sent: list[str] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append("sent")))
    return sent


def test_the_handle_moves_the_numbers_and_python_hears_once(server, open_page):
    page = open_page("about:blank", wait=False)
    sent = runs(page)
    page.goto(server.url + "/scaling")
    settled(page)
    handle = page.locator(HANDLE)
    handle.wait_for(timeout=DRAWN_MS)
    wait_for_text(page, "0.0 dB")
    wait_for_text(page, "100%")
    before, heard = bars(page), len(sent)
    handle.focus()
    for _ in range(72):
        handle.press("ArrowRight")
    page.wait_for_function("slider => document.querySelector(slider).value === '-18'", arg=SLIDER)
    assert in_the_end(page, lambda: decibels(page), lambda found: found > 30) > 30
    assert "100%" not in texts(page)
    assert min(bars(page)) > min(before) + 100
    page.wait_for_url(re.compile(r"scaling_log2=-18\.0$"), timeout=DRAWN_MS)
    settled(page)
    assert handle.get_attribute("aria-valuetext").startswith("scale 2^-18: ")
    assert len(sent) - heard < 36, "half of the steps or more went to Python"


def test_dragging_across_the_curve_is_the_slider(server, open_page):
    page = open_page(server.url + "/scaling?scaling_input=gaussian", height=1500)
    slider = page.locator(SLIDER)
    page.locator(HANDLE).wait_for(timeout=DRAWN_MS)
    wait_for_text(page, "become 0")
    title = page.locator(f"{CHART} svg text", has_text="SQNR (dB) at every scale").bounding_box()
    chart = page.locator(f"{CHART} svg").first.bounding_box()
    y, left, right = title["y"] + 80, chart["x"] + 60, chart["x"] + chart["width"] / 4
    page.mouse.move(left, y)
    page.mouse.down()
    for step in range(1, 11):
        page.mouse.move(left + (right - left) * step / 10, y)
    low, high = float(slider.get_attribute("min")), float(slider.get_attribute("max"))
    pointed = low + (right - chart["x"]) / chart["width"] * (high - low)
    assert float(slider.input_value()) == pytest.approx(pointed, abs=0.5)
    page.mouse.up()
    page.wait_for_url(re.compile(rf"scaling_log2={re.escape(str(float(slider.input_value())))}"))
    page.get_by_role("button", name="amax scale").click()
    page.wait_for_function("slider => document.querySelector(slider)?.value === '-7'", arg=SLIDER)


@exhaustive
def test_one_block_moves_through_every_rule(server, open_page):
    page = open_page(server.url + "/scaling?scaling=rules&scaling_one=1.75")
    page.locator(SLIDER).wait_for(timeout=DRAWN_MS)
    page.locator(f"{CHART} svg text", has_text="→ 448").first.wait_for(timeout=DRAWN_MS)
    assert len([text for text in texts(page) if text.endswith("→ 448")]) == 4
    page.locator(SLIDER).focus()
    page.locator(SLIDER).press("ArrowRight")
    page.locator(f"{CHART} svg text", has_text="scale 2⁻⁷ → 228").first.wait_for(timeout=DRAWN_MS)
    assert "scale 2⁻⁸ → 456" in texts(page)
    page.wait_for_url(re.compile(r"scaling_one=1\.78125$"), timeout=DRAWN_MS)


def test_pointing_at_a_step_shows_its_figures(server, open_page):
    page = open_page(
        server.url + "/scaling?scaling=delayed&scaling_series=spikes&scaling_steps=16", height=1500
    )
    title = page.locator(f"{CHART} svg text", has_text="amax of each step")
    title.wait_for(timeout=DRAWN_MS)
    chart = page.locator(f"{CHART} svg").first.bounding_box()
    for step in (8, 3):
        at = ROOM + (1 - ROOM) * (step + 0.5) / 16
        page.mouse.move(chart["x"] + chart["width"] * at, title.bounding_box()["y"] + 130)
        wait_for_figure(page, "step", str(step))
