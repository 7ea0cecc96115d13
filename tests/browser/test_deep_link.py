"""The first address opened on a fresh server may be any page's, with parameters."""

import re
from collections.abc import Callable
from urllib.parse import parse_qsl, urlsplit

import pytest

from pages.kit.story import KEY
from tests.browser.handles import HANDLE, at_rest, pull
from tests.browser.looks import TELEPHONE, in_the_end, settled
from tests.serving import TOP
from tests.sweeps import exhaustive

pytestmark = pytest.mark.browser

PAGES = re.findall(r'title="([^"]+)"', (TOP / "app.py").read_text())
NAVIGATION = f".st-key-{KEY}"


def sidebar(page) -> list[str]:
    return page.locator(f"{NAVIGATION} a").all_inner_texts()


def address(path: str, **parameters: str) -> Callable[[str], bool]:
    """A function that returns True if an address has this path and, among others, these parameters."""

    def fits(url: str) -> bool:
        parts = urlsplit(url)
        return parts.path == path and parameters.items() <= dict(parse_qsl(parts.query)).items()

    return fits


def assert_shows(page, title: str, recipe: str, matmul: str) -> None:
    assert in_the_end(page, lambda: sidebar(page), lambda shown: shown == PAGES) == PAGES
    assert page.title() == title
    assert page.locator('[data-testid="stException"]').count() == 0
    assert page.get_by_role("dialog").count() == 0
    fields = page.get_by_test_id("stSelectbox").locator("input")
    lists = in_the_end(page, lambda: [one.input_value() for one in fields.all()], lambda now: recipe in now)
    assert recipe in lists
    button = page.get_by_role("radio", name=matmul, exact=True).first
    assert button.get_attribute("aria-checked") == "true"


@exhaustive
def test_a_deep_link_to_the_second_page_is_the_first_thing_a_server_sees(fresh_server, open_page):
    link = fresh_server.url + "/live_gemm?recipe={}&matmul=wgrad"
    first = open_page(link.format("mxfp8"), wait=False)
    second = open_page(link.format("rowwise"), wait=False)
    settled(first)
    settled(second)
    assert_shows(first, "Live GEMM", "MXFP8", "Wgrad")
    assert_shows(second, "Live GEMM", "Per row", "Wgrad")
    first.wait_for_url(address("/live_gemm", recipe="mxfp8", matmul="wgrad"))


def test_values_survive_the_sidebar_and_back_undoes_a_choice(server, open_page):
    page = open_page(server.url + "/live_gemm?recipe=mxfp8", fresh=True)
    page.locator(NAVIGATION).get_by_role("link", name="Tile layouts").click()
    page.wait_for_url(address("/tile_layouts", recipe="mxfp8"))
    settled(page)
    assert_shows(page, "Tile layouts", "MXFP8", "Fprop")
    page.get_by_role("radio", name="Dgrad", exact=True).first.click()
    page.wait_for_url(address("/tile_layouts", recipe="mxfp8", matmul="dgrad"))
    page.go_back()
    page.wait_for_url(lambda url: "matmul" not in url and address("/tile_layouts", recipe="mxfp8")(url))
    page.locator('[role="radio"][aria-checked="true"]', has_text="Fprop").first.wait_for()
    assert_shows(page, "Tile layouts", "MXFP8", "Fprop")


def test_an_old_link_without_a_page_s_name_opens_tile_layouts_and_back_leads_out(server, open_page):
    page = open_page(server.url + "/?start_pull=40", width=TELEPHONE)
    assert page.locator("h1").inner_text() == "How can a network train in eight bits?"
    assert page.evaluate("() => document.querySelector('[data-testid=stMain]').scrollWidth") <= TELEPHONE
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(server.url + "/?recipe=mxfp8&matmul=wgrad")
    page.wait_for_url(address("/tile_layouts", recipe="mxfp8", matmul="wgrad"))
    settled(page)
    assert_shows(page, "Tile layouts", "MXFP8", "Wgrad")
    page.go_back()
    page.wait_for_url(lambda url: url == server.url + "/")
    page.locator("h1", has_text="How can a network").wait_for()
    settled(page)
    page.go_back()
    page.wait_for_url(address("/", start_pull="40"))
    page.goto(server.url + "/?recipe=mxfp8&embed=true")
    page.wait_for_url(address("/tile_layouts", recipe="mxfp8", embed="true"))


@pytest.mark.parametrize("next_page", ["Why FP8", "Start"])
def test_what_a_page_writes_after_its_reader_has_left_means_nothing_on_the_next(server, open_page, next_page):
    """Its answer is on the way while the reader clicks: the next page has it in its address."""
    page = open_page(server.url + "/formats?number=0.3", fresh=True)
    page.locator(NAVIGATION).get_by_role("link", name=next_page, exact=True).click()
    page.wait_for_function("() => !document.title.includes('Formats')")
    page.wait_for_selector(HANDLE)
    settled(page)
    path = urlsplit(page.url).path
    page.evaluate("history.replaceState(null, '', '?number=0.3')")
    at_rest(page, page.locator(HANDLE))
    pull(page, page.locator(HANDLE), -100, 0)
    page.wait_for_url(lambda url: "number" not in url)
    settled(page)
    assert urlsplit(page.url).path == path
    assert page.get_by_test_id("stAlert").count() == 0


def test_quick_clicks_end_at_the_last_one_which_the_link_to_copy_has_and_reset_empties(server, open_page):
    page = open_page(server.url + "/tile_layouts?recipe=mxfp8")
    for label in ("Dgrad", "Fprop", "Dgrad", "Wgrad"):
        page.get_by_role("radio", name=label, exact=True).first.click()
    page.wait_for_url(address("/tile_layouts", recipe="mxfp8", matmul="wgrad"))
    settled(page)
    assert_shows(page, "Tile layouts", "MXFP8", "Wgrad")
    page.get_by_role("button", name="Share").click()
    link = page.locator('[data-testid="stPopoverBody"] [data-testid="stCode"]').inner_text().strip()
    assert link.startswith(server.url)
    assert address("/tile_layouts", recipe="mxfp8", matmul="wgrad")(link)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Reset").click()
    page.wait_for_url(lambda url: url.endswith("/tile_layouts"))
