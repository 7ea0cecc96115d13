"""The part "In code" of a page's foot: the same call in torch, torchao, Transformer Engine and here.

A page with one recipe follows the recipe on the screen; one with several has tables of their calls.
"""

import ast
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import streamlit as st

from fp8core.recipes import RECIPES, Recipe
from fp8core.recipes.text import own_recipe
from pages.kit.in_code.source_text import parsed
from pages.kit.in_code.texts import (
    LIBRARIES,
    CodeText,
    PageTexts,
    checked_words,
    is_published,
    our_texts,
    page_texts,
    published,
)
from pages.kit.inert import plain
from pages.kit.shared_controls import OWN, RECIPE
from pages.kit.tables import markdown_table
from pages.kit.view import here

TITLE = "In code"
DESIGN_KEY = "design_from"  # the key of the control that says with which recipe a design begins
_CONFIGURATIONS = ("recipe", "config")  # the names to which a text gives the configuration that it makes


def draw_in_code(page: str) -> None:
    page_text = page_texts().get(page)
    if page_text is None:
        return
    texts, tables = page_text.texts, {}
    if page_text.follows_recipe and (recipe := recipe_on_screen(page, st.session_state)) is not None:
        texts = (*recipe_texts(recipe), *texts)
    elif page_text.recipes_key and (several := recipes_on_screen(page_text, st.session_state)):
        tables = {library: _table(several, at) for at, library in enumerate(LIBRARIES)}
    by_library: dict[str, list[CodeText]] = {library: [] for library in tables}
    for text in texts:
        by_library.setdefault(text.library, []).append(text)
    if not by_library:
        return
    with here().foot.container(key="view_code").expander(TITLE):
        for tab, (library, own) in zip(st.tabs(list(by_library)), by_library.items(), strict=True):
            if library in tables:
                tab.markdown(tables[library])
            _draw(tab, library, own, checked=library in tables)


def _draw(tab: Any, library: str, texts: list[CodeText], *, checked: bool) -> None:
    for text in texts:
        if text.title:
            tab.markdown(f"**{plain(text.title)}**")
        if text.code is None:
            tab.markdown(plain(text.why))
        else:
            tab.code(text.code, language=text.language, wrap_lines=True)
    notes = list(dict.fromkeys(note for text in texts for note in text.notes))
    if checked or any(text.code is not None for text in texts):
        notes.append(checked_words(library))
    if notes:
        tab.caption(" ".join(map(plain, notes)))


def recipe_on_screen(page: str, state: Mapping[str, Any]) -> Recipe | None:
    """The page's recipe by the session's values; None if unreadable."""
    own = state.get(OWN.key) or ""
    if page == "design":
        return _read(own) if own else RECIPES.get(str(state.get(DESIGN_KEY)))
    name = state.get(RECIPE.key, RECIPE.default)
    return RECIPES.get(name) or _read(own) or RECIPES[RECIPE.default]


@lru_cache(maxsize=256)
def _read(line: str) -> Recipe | None:
    try:
        return own_recipe(line)
    except ValueError:
        return None


def recipes_on_screen(page_text: PageTexts, state: Mapping[str, Any]) -> tuple[str, ...]:
    family = state.get(page_text.family_key) if page_text.family_key else None
    of_family = tuple(name for name, one in RECIPES.items() if one.family.name.lower() == family)
    return of_family or tuple(name for name in state.get(page_text.recipes_key) or () if name in RECIPES)


@lru_cache(maxsize=256)
def _table(names: tuple[str, ...], library: int) -> str:
    heads = ("recipe", "its call; Tile layouts has the whole text")
    with_texts = [name for name in names if name in published()]
    rows = ((RECIPES[name].title, _call(published()[name][library])) for name in with_texts)
    return markdown_table(heads, rows, "<")


def _call(text: CodeText) -> str:
    if text.code is None:
        return plain(text.why)
    body = parsed(text.code).body
    assignments = {one.targets[0].id: one.value for one in body if _assigns(one, ast.Name)}
    settings = [ast.unparse(one) for one in body if _assigns(one, ast.Subscript)]
    calls = [assignments[name] for name in _CONFIGURATIONS if name in assignments]
    calls += [one.value for one in body if isinstance(one, ast.Expr)]
    return ", with ".join(f"`{one}`" for one in (ast.unparse(calls[0]), *settings))


def _assigns(node: ast.stmt, kind: type[ast.expr]) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], kind)


def recipe_texts(recipe: Recipe) -> tuple[CodeText, ...]:
    """Texts of a published recipe in each library, or of the reader's own in this project."""
    others = published().get(recipe.name, ()) if is_published(recipe) else ()
    return (*others, *our_texts(recipe))
