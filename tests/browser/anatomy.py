"""How a view is built: where its picture lies, and how far a change of section moves it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from playwright.sync_api import Page

from tests.browser.looks import DRAW_MS, TWO_FRAMES, settled
from tests.browser.views import Step, View, sections
from tests.browser.visits import Tab, drawn

TOP_LIMIT = 250
"""Pixels above the picture on a laptop."""
SHIFT_LIMIT = 0.1
"""Layout shift when the section changes. The browser forgives a shift after a click; a reader does not."""


@dataclass(frozen=True, kw_only=True)
class Screen:
    """A screen, and what the address adds for it."""

    name: str
    width: int
    height: int
    is_touched: bool = False
    parameter: str = ""

    def address(self, view: View | Step) -> str:
        """The address of a view on this screen."""
        joint = "&" if "?" in view.address else "?"
        return view.address + (joint + self.parameter if self.parameter else "")


LAPTOP = Screen(name="laptop", width=1440, height=900)
PHONE = Screen(name="phone", width=390, height=844, is_touched=True)
PRESENTER = Screen(name="presenter", width=1280, height=720, parameter="present=true")
BESIDE = Screen(name="beside", width=1280, height=720)
"""A laptop on which a step of the lesson stands beside its page."""

_PROGRESS = '[data-testid="stMain"] [data-testid="stProgress"]'
_RUNNING = '[data-testid="stApp"][data-test-script-state="running"]'
OBSERVE_SHIFTS = """window.shifts = [];
window.shiftWatcher = new PerformanceObserver(list => shifts.push(...list.getEntries()));
shiftWatcher.observe({type: 'layout-shift', buffered: true});"""
"""A script of every page in which `change` is to be measured."""
_SHIFT = """() => [...shifts, ...shiftWatcher.takeRecords()].reduce((sum, one) => sum + one.value, 0)"""
_NO_SHIFT = "() => { shiftWatcher.takeRecords(); shifts.length = 0; }"
_SHOWS = """([key, text, isDefault]) =>
    (new URLSearchParams(location.search).get(key) ?? (isDefault && text)) === text"""
_ANATOMY = """() => {
    const main = document.querySelector('[data-testid="stMain"]');
    main.scrollTo(0, 0);
    const all = root => [...root.querySelectorAll('*')]
        .flatMap(one => one.shadowRoot ? [one, ...all(one.shadowRoot)] : [one]);
    const box = one => one.getBoundingClientRect();
    const elements = all(main);
    const pictures = chosen => elements.filter(one => one.matches(chosen)
        && box(one).width >= 120 && box(one).height >= 60
        && one.checkVisibility({checkOpacity: true, checkVisibilityCSS: true}));
    const TABLE = '[data-testid="stDataFrame"]', IMAGE = '[data-testid="stImage"]';
    const HTML = '.start, .index, .st-key-lesson_map, .join, .answers, .checks';
    const charts = pictures(`svg, canvas:not(${TABLE} *), ${IMAGE}, ${HTML}`);
    const drawn = charts.length ? charts : pictures(`table, ${TABLE}`);
    const first = drawn.map(box).sort((one, other) => one.top - other.top)[0];
    return {top: first?.top ?? null, bottom: first?.bottom ?? null};
}"""


@dataclass(frozen=True, kw_only=True)
class Anatomy:
    """Place of the first picture of a view in the main column, in pixels.

    A picture is a chart, an image or a stage; without any, a table. None where there is none at all.
    """

    top: float | None
    bottom: float | None

    def holds(self, screen: Screen) -> bool:
        """True if the picture is where this screen needs it.

        A laptop: near the top. A telephone: half of it is on the first screen. A projector, and
        a laptop beside a step of the lesson: all of it is.
        """
        if self.top is None or self.bottom is None:
            return False
        if screen is LAPTOP:
            return self.top <= TOP_LIMIT
        if screen is PHONE:
            return (self.top + self.bottom) / 2 <= screen.height
        return self.bottom <= screen.height


def anatomy(page: Page) -> Anatomy:
    """The anatomy of the view that a page shows."""
    return Anatomy(**page.evaluate(_ANATOMY))


def change(page: Page, view: View) -> float:
    """Choose a view's section, as a reader does, and return the layout shift until all is drawn.

    Nothing shifts on a page without sections.
    """
    choice = sections(view.page)
    if choice is None:
        computed(page)
        return 0.0
    button = page.get_by_role("radio", name=choice.options[view.section], exact=True).first
    button.scroll_into_view_if_needed()
    page.evaluate(_NO_SHIFT)
    button.click()
    page.wait_for_function(
        _SHOWS,
        arg=[choice.key, choice.text(view.section), view.section == choice.default],
    )
    computed(page)
    page.evaluate(TWO_FRAMES)
    return page.evaluate(_SHIFT)


def computed(page: Page) -> None:
    """Wait until nothing is being computed, and all is drawn.

    A bar goes when its run ends; the run that draws what was computed begins a moment later.
    """
    is_going_on = True
    while is_going_on:
        page.wait_for_selector(_PROGRESS, state="detached", timeout=DRAW_MS)
        settled(page)
        drawn(page)
        is_going_on = page.locator(f"{_PROGRESS}, {_RUNNING}").count() > 0


@contextmanager
def screens(themed: Callable, server: str) -> Iterator[Callable[[Screen, View | Step], Page]]:
    """A function that shows a view on a screen: each screen is a tab in which one view follows the other."""

    @cache
    def tab(screen: Screen) -> Tab:
        page = themed("light", touch=screen.is_touched, mobile=screen.is_touched).new_page()
        opened.append(page)
        page.set_viewport_size({"width": screen.width, "height": screen.height})
        return Tab(page, server)

    def show(screen: Screen, view: View | Step) -> Page:
        page = tab(screen).visit(screen.address(view))
        computed(page)
        return page

    opened = []
    yield show
    for page in opened:
        page.close()
