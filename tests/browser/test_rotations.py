"""The handle on the outlier moves the numbers and their windows in the browser; address and Notice follow."""

import re

import pytest

from pages.rotations.controls import MAGNITUDE
from pages.rotations.facts import Setting
from tests.browser.handles import HANDLE, center, mouse, value_in
from tests.browser.looks import in_the_end, settled

pytestmark = pytest.mark.browser

SETTING = Setting(
    size=32,
    rest="gaussian",
    outliers=1,
    seed=0,
    rotation="signed_hadamard",
    format="e2m1",
    tile="whole",
    scale="fp32",
)


def figures(page) -> list[int]:
    """How many numbers become 0 in each panel, as its large figure says."""
    texts = page.locator('[data-testid="stVegaLiteChart"] svg text').all_text_contents()
    found = [re.fullmatch(r"(None|\d+ of 32)", text) for text in texts]
    return [0 if match[1] == "None" else int(match[1].split()[0]) for match in found if match]


def hollow(page) -> int:
    """Numbers that the browser draws as becoming 0, in both panels."""
    labels = page.locator('svg [aria-roledescription="point"]').evaluate_all(
        "marks => marks.map(mark => mark.getAttribute('aria-label'))"
    )
    return sum("quantized: becomes 0" in label for label in labels)


def zeros(magnitude: int) -> list[int]:
    """The quantizer's zeros, before the rotation and after it."""
    return [round(frame.quantized(magnitude, SETTING.spec()).zeros * 32) for frame in SETTING.one()]


def drawn(page) -> tuple[int, list[int], int]:
    """The outlier's magnitude as the handle says it, the figures, and the hollow numbers."""
    words = page.locator(HANDLE).get_attribute("aria-valuetext")
    return int(words.split(":")[0]), figures(page), hollow(page)


def is_right(now: tuple[int, list[int], int]) -> bool:
    return now[1] == zeros(now[0]) and now[2] == sum(now[1])


def test_the_picture_follows_the_hand_without_python_and_draws_what_the_quantizer_does(server, open_page):
    page = open_page(server.url + "/rotations?rotations_size=32&rotations_tile=whole&rotations_magnitude=100")
    page.wait_for_selector(HANDLE)
    x, y = center(page)
    seen = set()
    with mouse(page, (x, y)):
        for step in range(1, 5):
            page.mouse.move(x, y + 45 * step, steps=2)
            page.wait_for_timeout(100)
            now = in_the_end(page, lambda: drawn(page), is_right)
            assert is_right(now), now
            seen.add(now[0])
    assert len(seen) > 2
    page.wait_for_url(lambda url: value_in(url, MAGNITUDE.key) == str(now[0]))
    settled(page)
    assert f"{now[1][0]} of 32 numbers become 0" in page.locator(".st-key-view_notice").inner_text()
