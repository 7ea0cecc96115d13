"""`?embed=true` and `present=true` are for a projector: no sidebar, large text, the picture on the first
screen, and links that stay so.
"""

import re
from functools import partial

import pytest

from tests.browser.anatomy import PRESENTER
from tests.browser.looks import UNREADABLE, in_the_end, listening, settled
from tests.browser.views import View
from tests.browser.visits import drawn

pytestmark = pytest.mark.browser

COLUMN = '[data-testid="stMainBlockContainer"] [data-testid="stVerticalBlock"]'
SIDEBAR = '[data-testid="stSidebar"]'
CHART = '[data-testid="stVegaLiteChart"]'
READABLE = 18
SCREEN = (1280, 720)


def test_text_is_large_charts_fit_and_the_sidebar_waits_behind_its_arrow(server, open_page):
    for address in ("tile_layouts?embed=true&show=copies", "outliers?outliers_show=crest&present=true"):
        page = open_page(f"{server.url}/{address}", width=SCREEN[0], height=SCREEN[1])
        page.locator(f"{CHART} svg text").first.wait_for()
        assert not page.locator(SIDEBAR).is_visible() or page.locator(SIDEBAR).bounding_box()["width"] < 1
        smallest = page.evaluate(
            """(chart) => Math.min(...[...document.querySelectorAll(chart + " svg text")]
                .filter((text) => text.textContent)
                .map((text) => [text, text.getScreenCTM()])
                .map(([text, to]) =>
                    parseFloat(getComputedStyle(text).fontSize) * Math.hypot(to.a, to.b)))""",
            CHART,
        )
        assert round(smallest, 2) >= READABLE
        assert in_the_end(page, partial(lowest, page), lambda at: at <= SCREEN[1]) <= SCREEN[1]
        drawn = page.locator(f"{CHART} svg").first.bounding_box()
        column = page.locator(COLUMN).first.bounding_box()
        assert drawn["x"] + drawn["width"] <= column["x"] + column["width"] + 4
    page.locator('[data-testid="stExpandSidebarButton"]').click()
    link = page.locator(SIDEBAR).get_by_role("link", name="Tile layouts")
    link.wait_for()
    assert page.locator(COLUMN).first.bounding_box()["width"] == column["width"]
    link.click()
    page.wait_for_url(lambda url: "outliers" not in url and "present=true" in url)
    settled(page)
    page.locator('[data-testid="stExpandSidebarButton"]').wait_for()
    assert zoom(page) == "1.5"


def test_a_step_of_the_lesson_lies_beside_the_page_and_the_picture_is_whole(server, open_page):
    address = f"{server.url}/scaling?lesson=scaling.2&present=true"
    page = open_page(address, width=SCREEN[0], height=SCREEN[1])
    page.locator(f"{CHART} svg text").first.wait_for()
    panel, main = page.locator(SIDEBAR).bounding_box(), page.get_by_test_id("stMain").bounding_box()
    assert panel["width"] > 0
    assert panel["x"] + panel["width"] <= main["x"]
    assert in_the_end(page, partial(lowest, page), lambda at: at <= SCREEN[1]) <= SCREEN[1]


def test_a_page_that_is_embedded_in_a_narrow_column_is_not_enlarged_and_its_picture_has_room(
    server, open_page
):
    page = open_page(f"{server.url}/benchmarks?embed=true", width=380, height=800)
    page.locator(f"{CHART} svg text").first.wait_for()
    assert zoom(page) == "1"
    plot = page.locator(f"{CHART} svg .background").first
    assert in_the_end(page, lambda: plot.bounding_box()["width"], lambda wide: wide > 100) > 100
    page.set_viewport_size({"width": SCREEN[0], "height": SCREEN[1]})
    assert zoom(page) == "1.5"


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (View("live_gemm"), "Click the map"),
        (View("fused", "amax"), "in the step"),
        (View("outliers", "matmuls"), "%"),
    ],
    ids=str,
)
def test_words_of_a_flat_picture_stand_clear_of_others(show, view, words):
    page = show(PRESENTER, view)
    page.locator(f"{CHART} svg text", has_text=words).first.wait_for()
    assert not [found for found in page.evaluate(UNREADABLE) if words in found]


def test_words_at_the_end_of_a_bar_stand_at_its_middle(server, open_page):
    page = open_page(f"{server.url}/outliers?outliers_show=matmuls")
    page.locator(f"{CHART} svg text", has_text="MXFP4").first.wait_for()
    drawn(page)
    middles = "all => all.map(one => one.getBoundingClientRect()).map(box => box.y + box.height / 2)"
    bars = sorted(page.locator(f"{CHART} svg g.mark-rect path").evaluate_all(middles))
    words = page.locator(f"{CHART} svg g.mark-text text", has_text=re.compile(r"\d% \w"))
    assert sorted(words.evaluate_all(middles)) == pytest.approx(bars, abs=2)


def zoom(page) -> str:
    """Factor by which the picture is enlarged."""
    return page.evaluate("() => getComputedStyle(document.querySelector('.st-key-view_stage')).zoom")


def lowest(page) -> float:
    """Lowest end of the first picture and the section's control."""
    boxes = (
        page.locator(f"{CHART} svg").first.bounding_box(),
        page.get_by_role("radiogroup").first.bounding_box(),
    )
    return max(box["y"] + box["height"] for box in boxes)


def test_a_click_finds_its_mark_and_the_copied_link_stays_embedded(server, open_page):
    page = open_page(server.url + "/formats?number=0x38&embed=true&embed_options=dark_theme")
    bits = page.locator(CHART).first.locator("svg")
    bits.wait_for()
    listening(page)
    box = bits.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 8 * 7.5, box["y"] + box["height"] * 0.35)
    page.wait_for_url(lambda url: "number=0x39" in url)
    settled(page)
    page.locator('[data-testid="stExpandSidebarButton"]').click()
    page.get_by_role("button", name="Share").click()
    link = page.locator('[data-testid="stPopoverBody"] code').inner_text()
    assert link == f"{server.url}/formats?number=0x39&embed=true&embed_options=dark_theme"
