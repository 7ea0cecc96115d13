"""A real server and a real browser.

    @pytest.mark.browser
    def test_something(server, open_page):
        page = open_page(server.url + "/live_gemm?recipe=mxfp8")

`server` serves all tests; `fresh_server` is a new process for one test. `open_page` waits until the page has
drawn and takes `theme="dark"`, `width`, `height` and `touch=True`; with `fresh=True` it is a session of its
own.
`settled(page)` waits until a rerun is over. Chromium is Debian's; without it the tests are skipped, or fail
where the environment has REQUIRE_BROWSER=1.
"""

import os
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, sync_playwright

from tests.browser.anatomy import OBSERVE_SHIFTS, Screen, screens
from tests.browser.looks import count_messages, settled
from tests.browser.views import Step, View
from tests.browser.visits import go
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
FRAMED = re.compile("embed|present|lesson")
"""In an address: the page stands in another frame, to which only a new load leads."""
HOP = "/classroom"
"""A page without a picture, on the way from one address to another of the same page."""
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
    def profile(theme: str, *, touch: bool = False, mobile: bool = False):
        context = chromium.new_context(color_scheme=theme, has_touch=touch, is_mobile=mobile)
        context.add_init_script("try { localStorage.clear() } catch {}\n" + OBSERVE_SHIFTS)
        return context

    return profile


@pytest.fixture(scope="module")
def show(themed, server) -> Iterator[Callable[[Screen, View | Step], Page]]:
    """A function that shows a view on a screen, all of a module's in one tab for each screen."""
    with screens(themed, server.url) as of_screen:
        yield of_screen


@pytest.fixture(scope="session")
def parked() -> dict[tuple[str, bool], list]:
    """The pages of earlier tests, by theme and touch: going on in one is a third of the work of a session."""
    return defaultdict(list)


@pytest.fixture
def open_page(themed, server, parked) -> Iterator[Callable]:
    """A function that opens an address and waits until it has drawn.

    The page may go on in the session of an earlier test: all its controls are those of the address. A
    `fresh` one is a session of its own, and nobody goes on in it.
    """
    new, pages = [], []

    def open_(
        url: str,
        *,
        theme: str = "light",
        width: int = 1280,
        height: int = 900,
        touch: bool = False,
        wait: bool = True,
        fresh: bool = False,
    ):
        is_plain = wait and not fresh and url.startswith(server.url + "/") and not FRAMED.search(url)
        profile = theme, touch
        if is_plain and parked[profile]:
            page = parked[profile].pop()
        else:
            count_messages(page := themed(theme, touch=touch).new_page())
        (pages if is_plain else new).append((profile, page))
        page.set_viewport_size({"width": width, "height": height})
        if page.url.startswith(server.url):
            page.mouse.move(0, 0)
            if urlsplit(page.url).path == urlsplit(url).path:
                go(page, HOP)
            go(page, url.removeprefix(server.url))
        else:
            page.goto(url)
        if wait:
            settled(page)
            if is_plain and urlsplit(page.url).path != urlsplit(url).path:  # a late word of the page before
                page.goto(url)
                settled(page)
        return page

    yield open_
    for profile, page in pages:
        page.mouse.up()
        page.emulate_media(media="null", reduced_motion="null")
        parked[profile].append(page)
    for _, page in new:
        page.close()
