"""The row "Words on this page": a few terms of the glossary that the view on the screen needs.

They are those that its question and its Notice use, then those whose link leads to it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import streamlit as st

from pages.kit.terms.explain import PAGE, STYLE, found_in, link
from pages.kit.terms.glossary import Term, glossary
from pages.kit.view import current, know

MOST = 8


def draw_style() -> None:
    """Draw nothing that is seen: the style sheet of the words."""
    st.html(STYLE)


def draw_words(page: str) -> None:
    """Draw the words of the view on the screen, each explained; nothing where it has none."""
    view = current()
    words = words_of(page, view.first_read if view else (), st.session_state)
    if words and page != PAGE:
        row = ", ".join(map(link, words))
        know().html(f'<p class="fp8-words"><b>Words on this page:</b> {row}</p>')


def words_of(page: str, first_read: Iterable[str], shown: Mapping[str, Any]) -> list[Term]:
    """The terms of a view: of its texts, then of its section, then of its page, `MOST` at most.

    `shown` are the values of its controls, by key.
    """
    terms, used = glossary().terms, found_in(first_read)
    here = [term for term in terms if term.page == page]
    section = [term for term in here if all(shown.get(key) == value for key, value in term.controls.items())]
    return list(dict.fromkeys([*(term for term in terms if term in used), *section, *here]))[:MOST]
