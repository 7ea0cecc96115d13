"""A real server and a real browser.

    @pytest.mark.browser
    def test_something(server, open_page):
        page = open_page(server.url + "/live_gemm?recipe=mxfp8")

`server` is one server a module; `fresh_server` is a new process for one test. `open_page` waits until the
page has drawn and takes `theme="dark"`, `width` and `height`; each call is a new session. `settled(page)`
waits until a rerun is over. Chromium is Debian's; without it the tests are skipped, or fail where the
environment has REQUIRE_BROWSER=1.
"""

import os
import shutil
from collections.abc import Callable, Iterator

import pytest

from tests.serving import Server, serving

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-dev-shm-usage",
]
BROWSERS = ("chromium-headless-shell", "chromium")
"""The same engine: the first has no window to draw around a page, and is faster for it."""
DRAW_MS = 60_000


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One server for the tests of a module."""
    with serving() as running:
        yield running


@pytest.fixture
def fresh_server() -> Iterator[Server]:
    """A server that no session has been opened on."""
    with serving() as running:
        yield running


@pytest.fixture(scope="session")
def chromium() -> Iterator[object]:
    """Playwright's handle of Debian's Chromium."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        told = f"Chromium is not installed: apt-get install {BROWSERS[0]}"
        if os.environ.get("REQUIRE_BROWSER") == "1":
            pytest.fail(told)
        pytest.skip(told)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


def settled(page) -> None:
    """Wait until the page has drawn and no run is going on."""
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]', timeout=DRAW_MS)
    page.wait_for_selector('[data-testid="stMain"] h1', timeout=DRAW_MS)


@pytest.fixture
def open_page(chromium) -> Iterator[Callable]:
    """A function that opens an address in a session of its own and waits until it has drawn."""
    contexts = []

    def open_(url: str, *, theme: str = "light", width: int = 1280, height: int = 900, wait: bool = True):
        context = chromium.new_context(color_scheme=theme, viewport={"width": width, "height": height})
        contexts.append(context)
        page = context.new_page()
        page.goto(url)
        if wait:
            settled(page)
        return page

    yield open_
    for context in contexts:
        context.close()
