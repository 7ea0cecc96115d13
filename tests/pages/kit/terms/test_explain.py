"""Contract: a page's words are those that a reader meets first, and each leads to its entry."""

from pages.kit.terms.explain import MOST, PAGE, glossary, link, terms_in, words_of

TILE = glossary()["tile"]


def test_a_link_carries_the_sentence_for_eyes_and_for_ears():
    html = link(TILE)
    assert f'data-says="{TILE.says}"' in html
    assert f'aria-label="tile: {TILE.says}"' in html
    assert html.endswith(">tile</a>")


def test_a_part_of_a_name_is_no_word_and_neither_is_what_often_means_something_else():
    assert terms_in(["tile_rows, stile, non-tile, tile-like", "The plan of a body has rounds"]) == set()


def test_plurals_other_names_and_any_case_are_known():
    texts = ["UE8M0 scales", "Clipped to the largest", "a per-row scale", "Denormals"]
    assert {term.term for term in terms_in(["a scale rule"])} == {"scale rule"}, "the longest name wins"
    assert {term.term for term in terms_in(texts)} == {"E8M0", "scale", "saturate", "per-row", "subnormal"}


def names(*arguments) -> list[str]:
    return [term.term for term in words_of(*arguments)]


def test_the_words_that_are_read_first_come_first_and_all_are_few():
    words = names("scaling", ["Why no scale?", "**2** overflow in bf16."], {})
    assert words[:3] == ["bf16", "overflow", "scale"]
    assert len(words) == MOST
    of_page = {term.term for term in glossary().values() if term.page == "scaling"}
    assert set(words[3:]) <= of_page


def test_the_words_of_the_section_on_the_screen_come_before_those_of_its_page():
    term = glossary()["delayed-scaling"]
    assert names("scaling", (), dict(term.controls))[0] == term.term
    assert names("scaling", (), {})[0] != term.term
    assert names("classroom", (), {}) == []


def test_the_row_is_on_a_page_and_not_on_the_glossary(open_app):
    at = open_app("pages/scaling.py")
    [row] = [one.proto.body for one in at.get("html") if "Words on this page" in one.proto.body]
    assert 3 <= row.count("<a ") <= MOST
    at = open_app(f"pages/{PAGE}.py", term="tile")
    assert not any("Words on this page" in one.proto.body for one in at.get("html"))
