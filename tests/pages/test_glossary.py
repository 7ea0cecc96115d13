"""Contract: a reader finds a word by a search or by its address, and goes on to what shows it."""

import re

import pytest

from pages.glossary.words import search
from pages.kit.terms.explain import glossary

PAGE = "pages/glossary.py"


def shown(at) -> list[str]:
    assert not at.exception, at.exception[0].value
    return [found[1] for html in at.get("html") if (found := re.match(r'<h2 id="([^"]+)"', html.proto.body))]


def links(at) -> list:
    """The links of the entries; those of the page's frame set no controls."""
    return [link.proto for link in at.get("page_link") if link.proto.query_string]


def test_all_terms_are_there_with_links(open_app):
    at = open_app(PAGE)
    assert shown(at) == [*glossary()]
    assert len(links(at)) == len(glossary())


def test_an_address_opens_one_term(open_app):
    at = open_app(PAGE, term="loss-scaling")
    assert shown(at) == ["loss-scaling"]
    [link] = links(at)
    assert (link.page, link.query_string) == ("formats", "formats=gradients")


def test_a_search_finds_and_lets_go_of_the_one_term(open_app):
    at = open_app(PAGE, term="loss-scaling")
    at.text_input(key="find").set_value("ue8m0").run()
    assert shown(at) == ["e8m0"]
    assert dict(at.query_params) == {"find": "ue8m0"}
    at.selectbox(key="term").set_value("tile").run()
    assert shown(at) == ["tile"]
    assert dict(at.query_params) == {"term": "tile"}


@pytest.mark.parametrize("text", ["zebra", "<b>bold</b> `code`"])
def test_a_search_without_a_result_says_so(open_app, text):
    at = open_app(PAGE, find=text)
    assert shown(at) == []
    [notice] = [one.value for one in at.markdown if one.value.startswith("No word")]
    assert text.split()[0] in notice


def test_all_words_are_seen_at_once_and_lead_to_their_entries(open_app):
    at = open_app(PAGE)
    [index] = [one.proto.body for one in at.get("html") if 'class="index"' in one.proto.body]
    assert re.findall(r'href="#([^"]+)"', index) == shown(at)


def test_a_search_takes_every_word_and_puts_names_first():
    terms = [term.term for term in search("scale RULE")]
    assert terms[0] == "scale rule"
    assert "RCEIL" in [term.term for term in search("power of two")]
    assert search("") == (*glossary().values(),)
    assert search("zebra") == ()
