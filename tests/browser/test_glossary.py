"""A word is explained where the keyboard is on it, also on a telephone, and leads to its entry."""

import pytest

from pages.kit.terms.explain import glossary
from tests.browser.looks import TELEPHONE, in_the_end

pytestmark = pytest.mark.browser

DRAWN = """link => {
    const style = getComputedStyle(link, '::after');
    return [style.content, parseFloat(style.width) || 0];
}"""
"""The sentence that the style sheet draws at a word, and its width; "none" where it draws nothing."""


def test_a_word_shows_its_sentence_to_the_keyboard_and_leads_to_its_entry(server, open_page):
    page = open_page(f"{server.url}/scaling", width=TELEPHONE, theme="dark")
    page.locator(".st-key-view_know summary").first.click()
    word = page.locator("a.fp8-term", has_text="amax").first
    word.wait_for()
    assert word.evaluate(DRAWN)[0] == "none"
    page.keyboard.press("Tab")  # the focus is the keyboard's from here on

    def focused() -> list:
        word.focus()  # a run that draws the word anew takes the focus away
        return word.evaluate(DRAWN)

    content, width = in_the_end(page, focused, lambda drawn: drawn[0] != "none")
    assert content == f'"{glossary()["amax"].says}"'
    assert 100 < width < TELEPHONE
    with page.context.expect_page() as opened:
        page.keyboard.press("Enter")
    entry = opened.value
    entry.get_by_role("heading", name="amax").wait_for()
    assert entry.url.endswith("/glossary?term=amax")
    entry.close()
