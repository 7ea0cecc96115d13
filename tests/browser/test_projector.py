"""`?embed=true` is for a projector: no sidebar, larger text, charts that fit, and links that stay so."""

import pytest

from tests.browser.looks import listening, settled

pytestmark = pytest.mark.browser

COLUMN = '[data-testid="stMainBlockContainer"] [data-testid="stVerticalBlock"]'
SIDEBAR = '[data-testid="stSidebar"]'
CHART = '[data-testid="stVegaLiteChart"]'
READABLE = 16


def test_text_is_large_charts_fit_and_the_sidebar_waits_behind_its_arrow(server, open_page):
    for page_name in ("tile_layouts", "accumulation"):
        page = open_page(f"{server.url}/{page_name}?embed=true")
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
        assert smallest >= READABLE
        drawn = page.locator(f"{CHART} svg").first.bounding_box()
        column = page.locator(COLUMN).first.bounding_box()
        assert drawn["x"] + drawn["width"] <= column["x"] + column["width"] + 4
    page.locator('[data-testid="stExpandSidebarButton"]').click()
    page.get_by_role("link", name="Tile layouts").click()
    page.wait_for_url(lambda url: "accumulation" not in url)
    settled(page)
    assert "embed=true" in page.url


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
    page.get_by_role("button", name="Copy link").click()
    link = page.locator('[data-testid="stPopoverBody"] code').inner_text()
    assert link == f"{server.url}/formats?number=0x39&embed=true&embed_options=dark_theme"
