"""Section "As text": the recipe in the words of Transformer Engine and of torchao, and its line."""

import streamlit as st

from fp8core.recipes import Recipe
from pages.design.draft import Draft
from pages.kit.in_code.export import Export
from pages.kit.in_code.peers import checked_words
from pages.kit.in_code.torchao import torchao
from pages.kit.in_code.transformer_engine import transformer_engine
from pages.kit.inert import plain


def show(recipe: Recipe, draft: Draft) -> None:
    """The two libraries, then the line."""
    for export in (transformer_engine(recipe), torchao(recipe)):
        st.header(export.library)
        _draw(export)
    st.header("This project")
    st.markdown("The line in the address says the whole recipe, and so does the JSON file:")
    st.code(
        f'from fp8core.recipes.text import from_text\n\nrecipe = from_text(\n    "{draft.line}"\n)',
        language="python",
        wrap_lines=True,
    )


def _draw(export: Export) -> None:
    if export.text is None:
        st.info(plain(export.why), icon=":material/block:")
        return
    st.code(export.text, language="python", wrap_lines=True)
    results = "The formats of y, dx and dw are no part of it."
    for note in (*export.notes, results, checked_words(export.library)):
        st.caption(plain(note))
