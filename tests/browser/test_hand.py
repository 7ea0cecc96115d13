"""A gold handle in a chart follows the mouse, a finger and keys; chart and address follow the handle."""

import pytest

from pages.accumulation.facts import STEP
from pages.formats.code import NUMBER
from pages.outliers.controls import FACTOR
from pages.rotations.controls import MAGNITUDE
from pages.scaling.rules import BLOCK_AMAX
from pages.scaling.window import LOG2_SCALE
from pages.why_fp8.controls import TOKENS
from tests.browser.handles import HANDLE, at_rest, center, click_mark, finger, mouse, position, pull, value_in
from tests.browser.lines import Line
from tests.browser.looks import TWO_FRAMES, becomes, in_the_end, listening, settled
from tests.browser.visits import Tab
from tests.sweeps import each, exhaustive, some_cases

pytestmark = pytest.mark.browser

HANDS = {
    "scaling": (LOG2_SCALE.key, (-120, 0)),
    "scaling?scaling=rules": (BLOCK_AMAX.key, (-120, 0)),
    "formats": (NUMBER.key, (-120, 0)),
    "rotations": (MAGNITUDE.key, (0, 60)),
    "why_fp8": (TOKENS.key, (-142, 0)),
    "outliers?outliers_size=256x512": (FACTOR.key, (0, 20)),
    "accumulation": (STEP.key, (-105, 0)),
}
"""By address: the control that the handle sets, and a way to pull it."""
LATE_MS = 1600
"""An answer that comes so late is no less old: a slow server, or a train."""


@pytest.mark.parametrize("address", some_cases(7, each(HANDS)))
def test_the_handle_stays_under_the_mouse_and_keys_move_it_and_the_address_follows(
    server, open_page, address
):
    key, (across, up) = HANDS[address]
    page = open_page(f"{server.url}/{address}")
    page.wait_for_selector(HANDLE)
    before, (x, y) = position(page), center(page)
    with mouse(page, (x, y), (x + across, y + up)):
        becomes(page, lambda: center(page), pytest.approx((x + across, y + up), abs=20))
        during = position(page)
        assert during != before, "while the button is down"
    page.wait_for_url(lambda url: value_in(url, key) is not None)
    settled(page)
    assert position(page) == during
    by_mouse = value_in(page.url, key)
    page.locator(HANDLE).press("ArrowRight")
    page.wait_for_url(lambda url: value_in(url, key) != by_mouse)
    settled(page)
    assert position(page)[0] == during[0] + 1


@pytest.mark.parametrize("address", some_cases(4, each(HANDS)))
def test_a_finger_moves_the_handle_and_the_picture_stands_still(server, open_page, address):
    _, (across, up) = HANDS[address]
    page = open_page(f"{server.url}/{address}", width=390, height=844, touch=True)
    page.wait_for_selector(HANDLE)
    before, (x, y), picture = position(page), center(page), page.locator(".st-key-view_stage")
    top = at_rest(page, picture)["y"]
    with finger(page, *((x + share * across, y + share * up) for share in (0, 0.3, 0.6))):
        pass
    settled(page)
    assert in_the_end(page, lambda: position(page), lambda now: now != before) != before
    assert at_rest(page, picture)["y"] == top, "whatever the Notice says now"
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop") == 0


def test_a_quick_pull_that_makes_the_chart_wider_leaves_the_handle_where_it_was_let_go(server, open_page):
    """Shorter words beside the lines leave the chart more room: it is drawn anew."""
    page = open_page(f"{server.url}/why_fp8")
    page.wait_for_selector(HANDLE)
    x, _ = center(page)
    pull(page, page.locator(HANDLE), -260, 0)
    page.wait_for_url(lambda url: value_in(url, TOKENS.key) is not None)
    settled(page)
    page.wait_for_timeout(500)
    assert center(page)[0] == pytest.approx(x - 260, abs=30), "it snapped back"


def test_a_handle_follows_a_chart_of_another_width_for_who_asks_for_less_motion(server, open_page):
    """A transition shows the first frame as it was before, and no event tells of the next one."""
    page = open_page(f"{server.url}/accumulation?step=5")
    page.emulate_media(reduced_motion="reduce")
    marks = page.locator('svg.marks [class*=" rail_"] path')
    page.wait_for_selector(HANDLE)
    for width in (1500, 1280):
        before = center(page, marks.nth(4))
        page.set_viewport_size({"width": width, "height": 900})
        in_the_end(page, lambda: center(page, marks.nth(4)), lambda now, before=before: now != before)
        at_rest(page, marks.nth(4))
        becomes(page, lambda: center(page), pytest.approx(center(page, marks.nth(4)), abs=1))


@pytest.fixture
def line(themed):
    """The line of a page of its own."""
    page = themed("light").new_page()
    page.set_viewport_size({"width": 1280, "height": 900})
    yield Line(page)
    page.close()


@exhaustive
def test_a_handle_follows_the_next_answer_where_its_own_was_cut_off(server, line):
    page = line.page
    page.goto(f"{server.url}/formats")
    listening(page)
    hand = page.get_by_role("slider", name="The number")
    other = page.locator('[aria-label*="take: 0.34375"]').first
    at_rest(page, other)

    def becomes(number: str) -> None:
        def now() -> str:
            return hand.get_attribute("aria-valuetext")

        assert in_the_end(page, now, lambda words: words == number) == number
        settled(page)

    line.hold()
    hand.press("ArrowLeft")
    line.held(1)
    line.lose()
    click_mark(page, other)
    becomes("0.34375")
    hand.press("ArrowLeft")
    becomes("0.34")


def test_a_late_answer_takes_no_handle_back(server, line):
    tab = Tab(line.page, server.url)
    for address in ("", "tile_layouts"):
        page = tab.visit(address)
        hand = page.locator(HANDLE)
        before = position(page)[0]
        line.hold()
        for count in (1, 2):
            hand.press("ArrowLeft")
            line.held(count)
        page.wait_for_timeout(LATE_MS)
        for _ in ("of the first key", "of the second key"):
            line.release()
            page.evaluate(TWO_FRAMES)
            assert position(page)[0] == before - 2, address
        line.lose()
