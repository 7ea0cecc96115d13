"""How a page is looked at."""

import time
from collections.abc import Callable
from typing import TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")
_SENT: WeakKeyDictionary = WeakKeyDictionary()

THEMES = ("light", "dark")
DRAW_MS = 60_000
LATE_S = 15.0
"""Seconds after which what is drawn late on a slow machine is there."""

TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""Ends when the browser has drawn, and told of what it scrolled."""

UNMARKED = ".fp8-line { display: none } ::highlight(fp8-words) { text-decoration: none }"
"""Style of a picture on paper or on a card: no word of it has a line."""


def settled(page) -> None:
    """Wait until the page has drawn and no run is going on."""
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]', timeout=DRAW_MS)
    page.wait_for_selector('[data-testid="stMain"] h1', timeout=DRAW_MS)


def listening(page) -> None:
    """Wait until the page has settled and its charts hear the pointer."""
    settled(page)
    page.wait_for_timeout(400)


def unfold(page, words: str) -> None:
    """Open a part of the page's foot, and wait until all of it is to be seen.

    While it grows, Playwright scrolls inside of it to what is still hidden, and a click then misses.
    """
    part = page.locator("details", has=page.get_by_text(words, exact=True))
    part.locator("summary").first.click()
    page.wait_for_function(
        "part => part.open && part.getAnimations().length === 0", arg=part.first.element_handle()
    )


def in_the_end(page, look: Callable[[], T], wanted: Callable[[T], bool]) -> T:
    """The first value that is as wanted; if none ever is, the value after `LATE_S`."""
    deadline = time.monotonic() + LATE_S
    while not wanted(seen := look()) and time.monotonic() < deadline:
        page.wait_for_timeout(50)
    return seen


def becomes(page, look: Callable[[], T], value: T) -> None:
    """Wait until a look gives this value, and fail where it never does."""
    assert in_the_end(page, look, lambda now: now == value) == value


def count_messages(page) -> None:
    """Count what a page says to the server, from its next load on."""
    sent = _SENT[page] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda _: sent.append("sent")))


def messages(page) -> list[str]:
    """The messages of a page of `open_page` to the server, a list that grows: each asks for a run."""
    return _SENT[page]


def silent(page, said: Callable[[], int], for_ms: int = 1000) -> int:
    """Wait until a count stands still for a while: nobody says anything any more. Returns the count.

    Raises AssertionError where that does not come.
    """

    def stands_still() -> bool:
        before = said()
        page.wait_for_timeout(for_ms)
        return said() == before

    assert in_the_end(page, stands_still, bool), f"still talking: {said()}"
    return said()


UNREADABLE = """() => [...document.querySelectorAll('svg.marks')].flatMap(svg => {
    const inside = svg.getBoundingClientRect(), found = [];
    const seen = text => text.textContent.trim() && getComputedStyle(text).opacity !== '0';
    const words = [...svg.querySelectorAll('text')].filter(seen);
    const boxes = words.map(text => text.getBoundingClientRect());
    words.forEach((word, i) => {
        const box = boxes[i], said = word.textContent, size = parseFloat(getComputedStyle(word).fontSize);
        const outside = box.left < inside.left - 1 || box.right > inside.right + 1;
        if (outside || said.endsWith('…')) found.push(said + ' is cut');
        if (size < 11) found.push(said + ' has ' + size + ' px');
        const { stroke, paintOrder } = getComputedStyle(word);
        if (stroke !== 'none' && !paintOrder.startsWith('stroke')) found.push(said + ' under its own halo');
        boxes.slice(i + 1).forEach((other, j) => {
            const wide = Math.min(box.right, other.right) - Math.max(box.left, other.left);
            const tall = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
            if (wide > 3 && tall > 4) found.push(said + ' over ' + words[i + 1 + j].textContent);
        });
    });
    return found;
})"""
"""Words of the page's charts that are cut off, smaller than 11 pixels, or under a halo or other words."""

STRUCK = """() => [...document.querySelectorAll('svg.marks')].flatMap(svg => {
    const shown = chosen => [...svg.querySelectorAll(chosen)].filter(one => !one.closest('.role-legend'));
    const dots = shown('g.mark-symbol path').map(dot => dot.getBoundingClientRect());
    return shown('text').filter(word => word.textContent.trim()).filter(word => {
        const box = word.getBoundingClientRect();
        return dots.some(dot => Math.min(box.right, dot.right) - Math.max(box.left, dot.left) > 1
            && Math.min(box.bottom, dot.bottom) - Math.max(box.top, dot.top) > 2);
    }).map(word => word.textContent);
})"""
"""Words of the page's charts that lie on a point; a letter's box is a little taller than the letter."""

TELEPHONE = 380
"""The width of a telephone's screen."""
