"""The row "Words on this page": every term of the glossary that a page shows or names.

A page does not list its words. They are the terms whose link leads to it, and those in its own texts: the
sentences of its script and of the sections that it imports.
"""

import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import streamlit as st

from kernels.paths import TOP
from pages.kit.in_code.syntax import parsed
from pages.kit.terms.explain import PAGE, STYLE, found_in, link
from pages.kit.terms.glossary import Term, glossary
from pages.kit.view import know

_SECTIONS = "pages.sections."


def draw_style() -> None:
    """Draw nothing that is seen: the style sheet of the words."""
    st.html(STYLE)


def draw_words(page: str) -> None:
    """Draw the words of a page, each explained; nothing where it has none."""
    if row := _row(page):
        know().html(row)


@lru_cache(maxsize=64)
def words_of(page: str) -> tuple[Term, ...]:
    """The terms of a page, in the order of the alphabet."""
    if page == PAGE:
        return ()
    shown = {term for term in glossary().terms if term.page == page}
    found = shown | found_in(texts_of(TOP / "pages" / f"{page}.py"))
    return tuple(term for term in glossary().terms if term in found)


@lru_cache(maxsize=64)
def _row(page: str) -> str:
    words = ", ".join(map(link, words_of(page)))
    return words and f'<p class="fp8-words"><b>Words on this page:</b> {words}</p>'


def texts_of(script: Path) -> Iterator[str]:
    """The sentences of a page's script and of its sections: all texts with a space, docstrings left out."""
    tree = parsed(script.read_text(encoding="utf-8"))
    files = {script}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_SECTIONS):
            folder = TOP / "pages/sections" / node.module.removeprefix(_SECTIONS).split(".")[0]
            files |= set(folder.rglob("*.py"))
    for file in sorted(files):
        yield from _sentences(parsed(file.read_text(encoding="utf-8")))


def _sentences(tree: ast.Module) -> Iterator[str]:
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in docstrings:
            yield from [node.value] if isinstance(node.value, str) and " " in node.value else []
