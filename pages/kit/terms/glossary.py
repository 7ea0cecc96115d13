"""The glossary: the words of the pages, each with one sentence, as `assets/glossary.toml` has them.

term = glossary().find("ue8m0")      # by its own name or another one, in any case
term.says, term.page, term.params
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from kernels.paths import TOP
from pages.kit.entries import Field, is_controls, is_names, is_sentence, is_text, is_truth, problems

GLOSSARY = TOP / "assets/glossary.toml"
FIELDS = {
    "term": Field(is_text, "a word"),
    "names": Field(is_names, "a list of further names", optional=True),
    "says": Field(is_sentence, "one sentence of at most 25 words that ends with a full stop"),
    "page": Field(is_text, "the name of a page's script"),
    "set": Field(is_controls, "a table of controls, each with a text, a number, a truth or a list of texts"),
    "source": Field(is_text, "where the meaning is written down"),
    "in_text": Field(is_truth, "true or false", optional=True),
}
_NOT_IN_SLUG = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, kw_only=True, eq=False)
class Term:
    """One word: what it means, and the page and the controls that show it.

    A term that is not `in_text` often means something else: no text explains it on hover.
    """

    term: str
    names: tuple[str, ...]
    says: str
    page: str
    controls: Mapping[str, object]
    source: str
    in_text: bool

    @property
    def slug(self) -> str:
        """Its name in an address, such as ``two-level-scales``."""
        return _NOT_IN_SLUG.sub("-", self.term.lower()).strip("-")

    @property
    def every_name(self) -> tuple[str, ...]:
        """The word and all further names of it."""
        return (self.term, *self.names)

    @property
    def params(self) -> dict[str, str]:
        """The controls that show it, as an address writes them."""
        return params(self.controls)


@dataclass(frozen=True)
class Glossary:
    """All terms, in the order of the alphabet."""

    terms: tuple[Term, ...]

    @cached_property
    def by_slug(self) -> dict[str, Term]:
        """The terms by their names in an address."""
        return {term.slug: term for term in self.terms}

    @cached_property
    def _by_name(self) -> dict[str, Term]:
        return {name.casefold(): term for term in self.terms for name in term.every_name}

    def find(self, name: str) -> Term | None:
        """The term that has this name, in any case."""
        return self._by_name.get(name.casefold())

    def search(self, text: str) -> tuple[Term, ...]:
        """The terms of which a name or the sentence holds every word of `text`; those named so come first."""
        words = text.casefold().split()

        def holds(texts: tuple[str, ...]) -> bool:
            return all(word in " ".join(texts).casefold() for word in words)

        named = tuple(term for term in self.terms if holds(term.every_name))
        return named + tuple(
            term for term in self.terms if term not in named and holds((*term.every_name, term.says))
        )


def params(values: Mapping[str, object]) -> dict[str, str]:
    """Controls by key as the parameters of an address."""
    return {key: _text(value) for key, value in values.items()}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


@lru_cache(maxsize=1)
def glossary() -> Glossary:
    """The glossary of this app, read once."""
    return read(GLOSSARY)


def read(path: Path) -> Glossary:
    """The glossary in a file.

    Raises ValueError, with a line for each, where fields are missing, unknown or wrong, or a name is there
    twice.
    """
    entries: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8")).get("terms", [])
    wrong = [
        f"term {number}{_called(entry)}: {name} {problem}"
        for number, entry in enumerate(entries, start=1)
        for name, problem in problems(entry, FIELDS)
    ] or [*_twice(entries)]
    if wrong:
        raise ValueError("\n".join([f"{path.name} is not as it should be:", *wrong]))
    return Glossary(tuple(sorted(map(_made, entries), key=lambda term: term.term.casefold())))


def _made(entry: Mapping[str, Any]) -> Term:
    return Term(
        term=entry["term"],
        names=tuple(entry.get("names", ())),
        says=entry["says"],
        page=entry["page"],
        controls=entry["set"],
        source=entry["source"],
        in_text=entry.get("in_text", True),
    )


def _called(entry: Mapping[str, object]) -> str:
    return f" ({entry['term']})" if isinstance(entry.get("term"), str) else ""


def _twice(entries: list[dict[str, Any]]) -> Iterator[str]:
    """A sentence for each name that is there a second time, whichever term has it."""
    owner: dict[str, str] = {}
    for entry in entries:
        for name in (entry["term"], *entry.get("names", ())):
            if name.casefold() in owner:
                yield f"{name} is a name of {owner[name.casefold()]} and of {entry['term']}"
            owner[name.casefold()] = entry["term"]
