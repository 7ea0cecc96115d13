"""A gold handle in a chart: where it is, and what the address says."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

from tests.browser.looks import in_the_end

HANDLE = ".handle >> nth=0"


def value_in(url: str, key: str) -> str | None:
    """The value of a control in an address; None where it has its default."""
    return parse_qs(urlsplit(url).query).get(key, [None])[0]


def position(page) -> tuple[int, str]:
    """The handle's position, as a number and in words."""
    handle = page.locator(HANDLE)
    return int(handle.get_attribute("aria-valuenow")), handle.get_attribute("aria-valuetext")


def at_rest(page, hand) -> dict[str, float]:
    """Place of something, once it has stood there for a while: a busy machine draws late."""

    def twice() -> tuple:
        before = hand.bounding_box()
        page.wait_for_timeout(300)
        return before, hand.bounding_box()

    return in_the_end(page, twice, lambda seen: seen[0] is not None and seen[0] == seen[1])[1]


@contextmanager
def finger(page, *points: Sequence[float]) -> Iterator[None]:
    """Put a finger down at the first point and move it along the others; it is lifted after the block."""
    client = page.context.new_cdp_session(page)
    kinds = ["touchStart", *["touchMove"] * (len(points) - 1)]
    for kind, (x, y) in zip(kinds, points, strict=True):
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
    yield
    client.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    client.detach()


@contextmanager
def mouse(page, *points: Sequence[float]) -> Iterator[None]:
    """Press the mouse at the first point and move it along the others; it is let go after the block."""
    page.mouse.move(*points[0])
    page.mouse.down()
    for point in points[1:]:
        page.mouse.move(*point, steps=5)
    yield
    page.mouse.up()


def pull(page, hand, across: float, down: float) -> None:
    """Move a handle so many pixels with the mouse, and let it go."""
    x, y = center(page, hand)
    with mouse(page, (x, y), (x + across, y + down)):
        pass


def click_mark(page, mark) -> None:
    """Click where a mark of a chart is at rest: a chart that is drawn anew replaces its marks."""
    mark.evaluate_all("marks => marks[0]?.scrollIntoView({ block: 'nearest' })")
    page.mouse.click(*middle(at_rest(page, mark)))


def center(page, hand=None) -> tuple[float, float]:
    """The middle of the handle, or of what a locator or a selector finds."""
    found = page.locator(hand or HANDLE) if hand is None or isinstance(hand, str) else hand
    return middle(found.bounding_box())


def lost_in(page) -> list[int]:
    """The numbers of a row that a stage draws as lost."""
    return page.eval_on_selector_all(
        "circle.dot", "dots => dots.flatMap((dot, i) => dot.classList.contains('lost') ? [i] : [])"
    )


def middle(box: dict[str, float]) -> tuple[float, float]:
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
