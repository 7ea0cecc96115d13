"""The glossary of `assets/glossary.toml`, and a page's row of words that lead to it.

A link carries its sentence: the style sheet shows that, and a screen reader says it. `words.js` explains the
words in a page's texts and pictures.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from typing import Any

import streamlit as st

from kernels.paths import TOP
from pages.kit.controls import link_params
from pages.kit.view import here

GLOSSARY = TOP / "assets/glossary.toml"
_NOT_IN_SLUG = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, kw_only=True, eq=False)
class Term:
    """A word, its meaning, and the page and controls that show it.

    A term that is not `in_text` often means something else: no text explains it.
    """

    term: str
    says: str
    page: str
    controls: Mapping[str, Any]
    source: str
    names: Sequence[str] = ()
    in_text: bool = True

    @property
    def slug(self) -> str:
        """Name in an address, such as ``two-level-scales``."""
        return _NOT_IN_SLUG.sub("-", self.term.lower()).strip("-")

    @property
    def every_name(self) -> tuple[str, ...]:
        return (self.term, *self.names)

    @property
    def params(self) -> dict[str, str]:
        return link_params(**self.controls)


@lru_cache(maxsize=1)
def glossary() -> dict[str, Term]:
    """All terms by slug, in the alphabet's order."""
    entries = tomllib.loads(GLOSSARY.read_text(encoding="utf-8"))["terms"]
    terms = [Term(controls=entry.pop("set"), **entry) for entry in entries]
    return {term.slug: term for term in sorted(terms, key=lambda term: term.term.casefold())}


PAGE = "glossary"
TERM = "term"  # the glossary's page, and the parameter of its address that names a term


def link(term: Term, address: str | None = None) -> str:
    """HTML link of a term to its entry, or to `address`, with its sentence."""
    words, says = escape(term.term), escape(term.says)
    where = f'href="{PAGE}?{TERM}={term.slug}" target="_blank"' if address is None else f'href="{address}"'
    return f'<a class="fp8-term" {where} data-says="{says}" aria-label="{words}: {says}">{words}</a>'


def terms_in(texts: Iterable[str]) -> set[Term]:
    words = {word[0] for text in texts for word in _words().finditer(text)}
    terms = {word: _terms_by_name()[word.casefold()] for word in words}
    return {term for word, term in terms.items() if len(word) > 1 or word in term.every_name}  # k is not K


@lru_cache(maxsize=1)
def _terms_by_name() -> dict[str, Term]:
    """Every name and its plural in lower case, with its term."""
    names = {
        name.casefold(): term for term in glossary().values() if term.in_text for name in term.every_name
    }
    return {f"{name}s": term for name, term in names.items()} | names


@lru_cache(maxsize=1)
def _words() -> re.Pattern[str]:
    """Pattern of all names, the longest first; no part of a word or of a name such as ``a_scale``."""
    longest_first = sorted(_terms_by_name(), key=len, reverse=True)
    return re.compile(rf"(?<![\w\\-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w-])", re.IGNORECASE)


MOST = 8


def draw_words(page: str) -> None:
    words = words_of(page, here().first_read, st.session_state)
    if words and page != PAGE:
        row = ", ".join(map(link, words))
        here().know.html(f'<p class="fp8-words"><b>Words on this page:</b> {row}</p>')


def words_of(page: str, first_read: Iterable[str], values: Mapping[str, Any]) -> list[Term]:
    """Terms of a view: of its texts, its section, then its page, at most `MOST`. `values`: its controls'."""
    terms, mentioned = glossary().values(), terms_in(first_read)
    here = [term for term in terms if term.page == page]
    section = [term for term in here if all(values.get(key) == value for key, value in term.controls.items())]
    return list(dict.fromkeys([*(term for term in terms if term in mentioned), *section, *here]))[:MOST]
