"""The slider in the picture moves the stems in the browser, and the address and the notice follow it."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.browser.looks import settled

pytestmark = pytest.mark.browser

SLIDER = ".vega-bind input[type=range]"


def picture_words(page) -> list[str]:
    """What the picture itself writes above its panels."""
    texts = page.locator('[data-testid="stVegaLiteChart"] svg text').all_text_contents()
    return [text for text in texts if "largest |x|" in text]


def magnitude(url: str) -> str | None:
    return parse_qs(urlsplit(url).query).get("rotations_magnitude", [None])[0]


def figures(words: list[str]) -> list[tuple[float, int]]:
    """(largest |x|, how many become zero) of each panel."""
    found = [re.search(r"largest \|x\| ([\d.]+) · (\d+) become", text) for text in words]
    return [(float(match[1]), int(match[2])) for match in found if match]


def notice(page) -> str:
    return page.locator(".st-key-view_notice").inner_text()


def counts(dead: int) -> str:
    """Zeros after the rotation, as the Notice has them."""
    return f"Rotated, {dead or 'none'} do"


def test_dragging_moves_the_picture_without_python_and_then_the_address(server, open_page):
    page = open_page(server.url + "/rotations?rotations_size=16")
    page.wait_for_selector(SLIDER)
    assert figures(picture_words(page))[0][0] == 16
    box = page.locator(SLIDER).bounding_box()
    assert box["width"] > 300
    page.mouse.move(box["x"] + box["width"] * 15 / 127, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] / 2, steps=8)
    drawn = figures(picture_words(page))
    assert 55 < drawn[0][0] < 75, "the picture follows while the button is down"
    page.mouse.up()
    held = int(page.locator(SLIDER).input_value())
    page.wait_for_url(lambda url: magnitude(url) == str(held))  # on the way it may name another
    settled(page)
    (before, dead_before), (after, dead_after) = figures(picture_words(page))
    assert before == held != 16
    assert after > 0
    assert f"{dead_before} of 16 numbers become 0" in notice(page)
    assert counts(dead_after) in notice(page)
