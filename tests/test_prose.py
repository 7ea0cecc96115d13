"""Docstrings that a student can read: they open with a noun or a verb, and their sentences end in time."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[1]
FILES = sorted(path for room in ("fp8core", "kernels", "pages") for path in (TOP / room).rglob("*.py"))
FRAGMENT = re.compile(r"(The same|Of|In which|Whether|Whose|What is|Which|Who)\b")
LONGEST_SENTENCE = 40


def docstrings(path: Path) -> Iterator[tuple[str, str]]:
    """(name, docstring) of a file and of each class and function in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (
            text := ast.get_docstring(node)
        ):
            yield getattr(node, "name", path.name), text


def sentences(text: str) -> Iterator[str]:
    """The sentences of a docstring. A paragraph, an item of a list, a table's row and a semicolon end one
    too.
    """
    for item in re.split(r"\n\s*\n|\n(?=- |\s|\|)", text):
        yield from re.split(r"(?<=[.?!;])\s+", item)


def test_sentences_end_at_stops_semicolons_items_rows_and_paragraphs():
    assert [*sentences("One. Two; three\nfour\n- five\n\nsix\n\n| seven |\n| eight |")] == [
        "One.",
        "Two;",
        "three\nfour",
        "- five",
        "six",
        "| seven |",
        "| eight |",
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(TOP).as_posix())
def test_a_docstring_opens_with_a_noun_or_a_verb(path):
    """A page's docstring is its question, which may open with any word."""
    opened = [(name, next(sentences(text))) for name, text in docstrings(path)]
    assert [
        (name, first) for name, first in opened if FRAGMENT.match(first) and not first.endswith("?")
    ] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(TOP).as_posix())
def test_a_sentence_of_a_docstring_is_short_enough_to_read_once(path):
    long = [
        (name, sentence)
        for name, text in docstrings(path)
        for sentence in sentences(text)
        if len(sentence.split()) > LONGEST_SENTENCE
    ]
    assert long == []
