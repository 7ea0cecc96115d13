"""Help that the browser gives by itself: it explains words where the page uses them first, also in a picture,
and brings "How we know" into sight.
"""

import pytest

from pages.kit.terms.explain import glossary
from tests.browser.anatomy import PHONE
from tests.browser.looks import in_the_end
from tests.browser.views import View
from tests.browser.visits import drawn

pytestmark = pytest.mark.browser

MARKED = """() => [...CSS.highlights.get('fp8-words') ?? []].map(
    ({startContainer: text, startOffset, endOffset}) => {
        const range = new Range();
        range.setStart(text, startOffset);
        range.setEnd(text, endOffset);
        const {x, y, width, height} = range.getBoundingClientRect();
        return {word: range.toString(), x: x + width / 2, y: y + height / 2};
    })"""
"""The words of the page that are marked in HTML, and their places."""
LAST_WORD = """line => {
    const end = line.getPointAtLength(line.getTotalLength() - 3).matrixTransform(line.getScreenCTM());
    return [end.x, end.y - 5];
}"""
LINES = "() => document.querySelectorAll('svg > path.fp8-line').length"


def marked(page, *wanted: str) -> dict[str, dict]:
    """Marks of the page, once these words have one."""
    return in_the_end(
        page,
        lambda: {one["word"]: one for one in page.evaluate(MARKED)},
        lambda marks: marks.keys() >= {*wanted},
    )


def test_each_word_has_one_mark_also_in_a_picture_and_is_explained_to_mouse_and_keys(server, open_page):
    page = open_page(f"{server.url}/scaling")
    assert in_the_end(page, lambda: page.evaluate(LINES), bool) == 1, "e4m3, below the picture"
    drawn(page)  # a picture that comes later moves the words below it
    words = marked(page, "scale", "amax", "dB")
    assert {"scale", "amax", "dB"} <= words.keys()
    assert len(page.evaluate(MARKED)) == len(words)
    page.mouse.move(words["amax"]["x"], words["amax"]["y"])
    tip = page.locator(".fp8-tip")
    tip.wait_for()
    assert tip.inner_text() == glossary()["amax"].says
    page.mouse.move(2, 2)
    tip.wait_for(state="hidden")
    page.mouse.move(*page.locator("svg > path.fp8-line").evaluate(LAST_WORD))
    tip.wait_for()
    assert tip.inner_text() == glossary()["saturate"].says
    page.mouse.move(2, 2)
    tip.wait_for(state="hidden")
    page.get_by_role("button", name="Explain the words on this page").focus()
    seen = {}
    for _ in range(30):
        before = offer_words(page)
        page.keyboard.press("ArrowRight")
        now = in_the_end(page, lambda: offer_words(page), lambda now, old=before: now != old)
        if now.endswith(f", 1 of {len(seen)}"):
            break
        tip.wait_for()
        seen[now.rsplit(",", 1)[0]] = tip.inner_text()
    assert seen["amax"] == glossary()["amax"].says
    assert seen.keys() > words.keys(), "and those of the picture"
    page.keyboard.press("Tab")
    tip.wait_for(state="hidden")


def offer_words(page) -> str:
    return page.locator(".fp8-key").inner_text()


def test_a_step_of_the_lesson_has_marks_of_its_own(server, open_page):
    page = open_page(f"{server.url}/scaling?lesson=scaling.2")
    marked(page, "amax")
    panel = page.locator(".st-key-lesson_panel").bounding_box()
    marks = [one for one in page.evaluate(MARKED) if one["word"] == "amax"]
    [own] = [one for one in marks if one["x"] < panel["x"] + panel["width"]]
    page.mouse.move(own["x"], own["y"])
    tip = page.locator(".fp8-tip")
    tip.wait_for()
    assert tip.inner_text() == glossary()["amax"].says


def test_a_mark_goes_with_its_word(server, open_page):
    """The Notice changes while a hand moves, before the page is at rest and its words are marked anew."""
    page = open_page(server.url + "/")
    assert "scale" in marked(page, "scale")
    handle = page.locator(".handle").first
    for _ in range(12):
        handle.press("ArrowUp")
    words = {one["word"].lower() for one in page.evaluate(MARKED)}
    assert page.get_by_text("Higher!").count() == 1
    names = {name.lower() for term in glossary().values() for name in term.every_name}
    assert words <= names | {f"{name}s" for name in names} | {""}


def test_a_tap_shows_a_sentence_that_fits_the_telephone(show):
    page = show(PHONE, View("scaling"))
    word = marked(page, "dB")["dB"]
    page.touchscreen.tap(word["x"], word["y"])
    tip = page.locator(".fp8-tip")
    tip.wait_for()
    box = tip.bounding_box()
    assert tip.inner_text() == glossary()["sqnr"].says
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= page.viewport_size["width"]


def test_how_we_know_comes_into_sight_and_stays_after_more_controls(server, open_page):
    page = open_page(f"{server.url}/scaling", height=700)
    know, more = (page.locator(f".st-key-view_{name} summary").first for name in ("know", "more"))
    know.click()
    in_the_end(page, lambda: know.bounding_box()["y"], lambda y: y < 350)
    assert know.bounding_box()["y"] < 350
    more.click()
    assert in_the_end(page, lambda: know.bounding_box()["y"] > more.bounding_box()["y"], bool)
