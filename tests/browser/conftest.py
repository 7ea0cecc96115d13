"""A real server and a real browser.

    @pytest.mark.browser
    def test_something(server, open_page):
        page = open_page(server.url + "/live_gemm?recipe=mxfp8")

`server` serves all tests; `fresh_server` is a new process for one test. `open_page` waits until the page has
drawn and takes `theme="dark"`, `width` and `height`; each call is a new session. `settled(page)` waits until
a rerun is over. Chromium is Debian's; without it the tests are skipped, or fail where the
environment has REQUIRE_BROWSER=1.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from functools import cache

import pytest

from tests.browser.anatomy import OBSERVE_SHIFTS
from tests.browser.looks import settled
from tests.serving import Server, serving

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
"""The last one cuts the network: no name leads anywhere."""
BROWSERS = ("chromium-headless-shell", "chromium")
"""The same engine: the first has no window to draw around a page, and is faster for it."""


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """One server for all tests of this process."""
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


@pytest.fixture(scope="session")
def themed(chromium) -> Callable:
    """A function that gives a theme's profile, in which Streamlit's own files are loaded once. A page finds
    nothing that another has stored, such as an open sidebar.
    """

    @cache
    def profile(theme: str):
        made = chromium.new_context(color_scheme=theme)
        made.add_init_script("try { localStorage.clear() } catch {}\n" + OBSERVE_SHIFTS)
        return made

    return profile


@pytest.fixture
def open_page(themed) -> Iterator[Callable]:
    """A function that opens an address in a session of its own and waits until it has drawn."""
    pages = []

    def open_(url: str, *, theme: str = "light", width: int = 1280, height: int = 900, wait: bool = True):
        page = themed(theme).new_page()
        pages.append(page)
        page.set_viewport_size({"width": width, "height": height})
        page.goto(url)
        if wait:
            settled(page)
        return page

    yield open_
    for page in pages:
        page.close()
