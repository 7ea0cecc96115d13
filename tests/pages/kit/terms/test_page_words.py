"""Contract: a page's words are few: those of its question and its Notice, then those that it shows."""

from pages.kit.terms.explain import PAGE, found_in
from pages.kit.terms.glossary import glossary
from pages.kit.terms.page_words import MOST, words_of


def names(*asked) -> list[str]:
    return [term.term for term in words_of(*asked)]


def test_the_words_that_are_read_first_come_first_and_all_are_few():
    found = names("scaling", ["Why no scale?", "**2** overflow in bf16."], {})
    assert found[:3] == ["bf16", "overflow", "scale"]
    assert len(found) == MOST
    shown = {term.term for term in glossary().terms if term.page == "scaling"}
    assert set(found[3:]) <= shown


def test_the_words_of_the_section_on_the_screen_come_before_those_of_its_page():
    term = glossary().find("delayed scaling")
    assert names("scaling", (), dict(term.controls))[0] == term.term
    assert names("scaling", (), {})[0] != term.term
    assert names("classroom", (), {}) == []


def test_the_row_is_on_a_page_and_not_on_the_glossary(open_app):
    at = open_app("pages/scaling.py")
    [row] = [one.proto.body for one in at.get("html") if "Words on this page" in one.proto.body]
    assert 3 <= row.count("<a ") <= MOST
    at = open_app(f"pages/{PAGE}.py", term="tile")
    assert not any("Words on this page" in one.proto.body for one in at.get("html"))


def test_a_qr_code_is_no_code_of_a_format():
    assert {term.term for term in found_in(["Scan the QR code.", "A code of e4m3."])} == {"code", "e4m3"}
    assert not found_in(["Scan the QR code."])
