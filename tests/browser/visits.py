"""Pages one after the other in one tab, as a reader goes through them. Most of a load is Streamlit itself.

    page = tab(theme="dark").visit("formats?formats=run")

A tab has a theme. Each page is asked for by its address, which alone says what it shows.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

from playwright.sync_api import Page, TimeoutError

from tests.browser.looks import DRAW_MS, settled

GO = """address => {
    history.pushState(null, '', address);
    dispatchEvent(new PopStateEvent('popstate'));
}"""
"""Effect of the browser's own arrows on Streamlit."""
GONE_MS = 10_000
"""Until then the browser shows another page; else it is loaded. A control that speaks late, in the moment of
leaving, takes Streamlit back to its own page.
"""
QUIET_MS = 120
QUIET = """quiet_ms => new Promise(done => {
    let timer, idle;
    const again = () => {
        clearTimeout(timer);
        cancelIdleCallback(idle);
        timer = setTimeout(() => { idle = requestIdleCallback(over); }, quiet_ms);
    };
    const watcher = new MutationObserver(again);
    const end = setTimeout(() => over(), 3000);
    const over = () => { clearTimeout(timer); clearTimeout(end); watcher.disconnect(); done(); };
    watcher.observe(document.body, {subtree: true, childList: true, attributes: true, characterData: true});
    again();
})"""
"""Ends when nothing has changed for a while and the browser has nothing to do, or after three seconds."""
UNDRAWN = """() => [...document.querySelectorAll('[data-testid="stVegaLiteChart"]')]
    .filter(place => !(place.querySelector('svg.marks')?.getBoundingClientRect().height > 40)).length"""


@dataclass
class Tab:
    """A tab of the browser, and what it did since the page that it shows was asked for."""

    page: Page
    server: str
    sockets: list[str] = field(default_factory=list)
    """The addresses of all websockets so far: the pages of a tab share one."""
    asked: list[str] = field(default_factory=list)
    """The addresses of all requests."""
    warned: list[str] = field(default_factory=list)
    """The warnings of Vega: of what it drops or changes in a chart."""

    def __post_init__(self) -> None:
        self.page.on(
            "console", lambda said: self.warned.append(said.text) if said.text.startswith("WARN") else None
        )
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("websocket", lambda socket: self.sockets.append(socket.url.replace("ws", "http", 1)))

    def visit(self, address: str) -> Page:
        """Show the page at an address, drawn. A page that is shown already is loaded, and so is the first."""
        page, before = self.page, urlsplit(self.page.url)
        self.asked.clear()
        self.warned.clear()
        if before.netloc != urlsplit(self.server).netloc or before.path == "/" + urlsplit(address).path:
            page.goto(f"{self.server}/{address}")
        else:
            go(page, "/" + address)
        settled(page)
        drawn(page)
        return page


def go(page: Page, address: str) -> None:
    """Lead the session of a page to another page of the app."""
    title = page.title()
    page.evaluate(GO, address)
    try:
        page.wait_for_function("title => document.title !== title", arg=title, timeout=GONE_MS)
    except TimeoutError:
        page.goto(urljoin(page.url, address))


def drawn(page: Page) -> None:
    """Wait until each chart is there, and nothing changes any more."""
    page.evaluate(QUIET, QUIET_MS)
    page.wait_for_function(f"({UNDRAWN})() === 0", timeout=DRAW_MS)


@contextmanager
def tabs(themed: Callable, server: str) -> Iterator[Callable[..., Tab]]:
    """A function that gives the tab of a theme, at a width. The tabs are closed in the end."""
    opened: dict[str, Tab] = {}

    def tab(*, theme: str = "light", width: int = 1280, height: int = 900) -> Tab:
        if theme not in opened:
            opened[theme] = Tab(themed(theme).new_page(), server)
        opened[theme].page.set_viewport_size({"width": width, "height": height})
        return opened[theme]

    yield tab
    for each in opened.values():
        each.page.close()
