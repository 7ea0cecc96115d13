"""Contract: an entry with wrong fields gets a sentence for each of them."""

import pytest

from pages.kit.entries import Field, is_controls, is_names, is_sentence, is_text, problems

FIELDS = {"term": Field(is_text, "a word"), "names": Field(is_names, "a list", optional=True)}


def test_every_wrong_field_is_named():
    assert [*problems({"term": " ", "nmaes": 1}, FIELDS)] == [
        ("term", "needs a word, got ' '"),
        ("nmaes", "is no field; the fields are term, names"),
    ]
    assert [*problems({"names": ["a", 1]}, FIELDS)] == [
        ("term", "is missing, and needs a word"),
        ("names", "needs a list, got ['a', 1]"),
    ]
    assert [*problems({"term": "tile"}, FIELDS)] == []


@pytest.mark.parametrize(
    "text", ["", "No stop", "Two of them. Here.", "word " * 25 + "end.", " A space before."], ids=repr
)
def test_what_is_no_short_sentence_is_refused(text):
    assert not is_sentence(text)


def test_a_sentence_may_hold_a_formula():
    assert is_sentence("Fprop is y = x · wᵀ, 1.5 times.")


@pytest.mark.parametrize(
    ("values", "fits"), [({"a": 1, "b": True, "c": ["x"]}, True), ({"a": [1]}, False), ([], False)], ids=str
)
def test_controls_are_plain_values_by_key(values, fits):
    assert is_controls(values) is fits
