"""Docstrings that a student can read: they open with a noun or a verb, and their sentences end in time."""

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
FILES = sorted(path for room in ("fp8core", "kernels", "pages") for path in (TOP / room).rglob("*.py"))
FRAGMENT = re.compile(r"(The same|Of|In which|Whether|Whose|What is|Which|Who)\b")
CLAUSE = re.compile(r"(What|Where|Those|How|While)\b")
ROOMS = tuple(f"kernels/{room}/" for room in ("gemm", "launching", "quantize", "worker"))
"""Rooms whose docstrings do not open with a relative clause, either."""
LONGEST_SENTENCE = 40


@cache
def docstrings(path: Path) -> list[tuple[str, str]]:
    """(name, docstring) of a file and of each class and function in it."""
    told = (ast.Module, ast.ClassDef, ast.FunctionDef)
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, told)]
    return [(getattr(node, "name", path.name), text) for node in nodes if (text := ast.get_docstring(node))]


def sentences(text: str) -> Iterator[str]:
    """The sentences of a docstring. A paragraph, an item of a list, a table's row and a semicolon end one
    too.
    """
    for item in re.split(r"\n\s*\n|\n(?=- |\s|\|)", text):
        yield from re.split(r"(?<=[.?!;])\s+", item)


def found(faults: Callable[[Path], list]) -> dict[str, list]:
    """The faults of each file that has some."""
    return {path.relative_to(TOP).as_posix(): those for path in FILES if (those := faults(path))}


def test_a_docstring_opens_with_a_noun_or_a_verb():
    """A page's docstring is its question, which may open with any word."""

    def fragments(path: Path) -> list[tuple[str, str]]:
        opened = [(name, next(sentences(text))) for name, text in docstrings(path)]
        barred = [FRAGMENT] + [CLAUSE] * path.relative_to(TOP).as_posix().startswith(ROOMS)
        return [
            (name, first)
            for name, first in opened
            if any(each.match(first) for each in barred) and not first.endswith("?")
        ]

    assert found(fragments) == {}


def test_a_sentence_of_a_docstring_is_short_enough_to_read_once():
    def long(path: Path) -> list[tuple[str, str]]:
        return [
            (name, sentence)
            for name, text in docstrings(path)
            for sentence in sentences(text)
            if len(sentence.split()) > LONGEST_SENTENCE
        ]

    assert found(long) == {}
