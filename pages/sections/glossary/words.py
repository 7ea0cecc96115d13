"""Section "Words": every term with its sentence, its other names, its source, and a link to what shows it."""

from functools import lru_cache
from html import escape

import streamlit as st

from pages.kit.controls import Controls
from pages.kit.inert import quoted
from pages.kit.terms.glossary import Term, glossary
from pages.sections.glossary.controls import EVERY, FIND, TERM

INTRO = (
    "Every word of these pages in one sentence. On the other pages, a dotted line under a word shows its "
    "sentence. The link below each entry opens the page that shows it, with the controls set."
)
NOTHING = "No term, no other name and no sentence holds {}. Try one word of it."


def show(controls: Controls) -> None:
    """Draw the search, and the terms that it finds."""
    st.markdown(INTRO)
    row = st.container(horizontal=True)
    controls.draw(FIND, row.container(width=300), on_change=lambda: controls.preset(**{TERM.key: EVERY}))
    controls.draw(TERM, row.container(width=240), on_change=lambda: controls.preset(**{FIND.key: ""}))
    text, slug = controls.value(FIND), controls.value(TERM)
    found = glossary().search(text) if slug == EVERY else (glossary().by_slug[slug],)
    if not found:
        st.info(NOTHING.format(quoted(text)))
    for term in found:
        draw_entry(term)


def draw_entry(term: Term) -> None:
    """Draw one term; its link opens the page with the controls that show it."""
    st.html(entry(term))
    st.page_link(f"pages/{term.page}.py", icon=":material/arrow_forward:", query_params=term.params)


@lru_cache(maxsize=256)
def entry(term: Term) -> str:
    """A term as HTML, under an anchor of its name."""
    names = f"<b>Also:</b> {escape(', '.join(term.names))}. " if term.names else ""
    return (
        f'<h2 id="{term.slug}" style="padding:0;margin:0.5rem 0 0;font-size:1.25rem">{escape(term.term)}</h2>'
        f'<p style="margin:0.25rem 0">{escape(term.says)}</p>'
        f'<p style="margin:0;font-size:0.875rem">{names}<b>Source:</b> {escape(term.source)}.</p>'
    )
