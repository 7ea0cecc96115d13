"""Contract: a page's words are those that lead to it and those in its texts; no list of them is kept."""

from pages.kit.terms.explain import PAGE, found_in
from pages.kit.terms.glossary import glossary
from pages.kit.terms.page_words import texts_of, words_of
from tests.pages.every_page.budget import CONTROLS


def test_every_page_has_its_words():
    for page in CONTROLS.keys() - {PAGE}:
        words = words_of(page)
        assert len(words) > 5, page
        assert {term for term in glossary().terms if term.page == page} <= set(words), page
        assert [*words] == [term for term in glossary().terms if term in words], page


def test_words_come_from_the_texts_of_a_page_and_of_its_sections(tmp_path):
    script = tmp_path / "page.py"
    script.write_text(
        '"""A docstring on a swizzle."""\n'
        "from pages.sections.stochastic import dot\n"
        'print("roofline", "a roofline of", f"the ledger {1}")\n'
    )
    texts = [*texts_of(script)]
    assert {"a roofline of", "the ledger "} <= set(texts)
    assert not {"roofline", "A docstring on a swizzle."} & set(texts)
    assert len(texts) > 50, "those of the sections are read as well"


def test_the_row_is_on_a_page_and_not_on_the_glossary(open_app):
    at = open_app("pages/scaling.py")
    assert [
        row.proto.body.count("<a ") for row in at.get("html") if "Words on this page" in row.proto.body
    ] == [len(words_of("scaling"))]
    at = open_app("pages/glossary.py", term="tile")
    assert not any("Words on this page" in row.proto.body for row in at.get("html"))


def test_a_qr_code_is_no_code_of_a_format():
    assert {term.term for term in found_in(["Scan the QR code.", "A code of e4m3."])} == {"code", "e4m3"}
    assert not found_in(["Scan the QR code."])
    assert "code" not in {term.term for term in words_of("classroom")}
