"""The recipe as a JSON file: to keep, and to load back. A file that is refused changes nothing."""

import json

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from fp8core.recipes.text import LONGEST_JSON, from_json, to_text
from pages.design.draft import Draft
from pages.design.editor import put
from pages.kit.controls import Controls
from pages.kit.inert import plain

FILE_KEY, _REFUSED = "_design_file", "_design_refused"


def draw_files(controls: Controls, draft: Draft, place: DeltaGenerator) -> None:
    """A button that downloads the recipe, and a place to drop a file."""
    place.download_button(
        "Download JSON",
        json.dumps(draft.data, ensure_ascii=False, indent=2) + "\n",
        file_name="recipe.json",
        mime="application/json",
        icon=":material/download:",
        help="The whole recipe, every field written out.",
    )
    with place.popover("Load JSON", icon=":material/upload:"):
        st.file_uploader(
            "A recipe's file",
            type="json",
            key=FILE_KEY,
            on_change=lambda: _load(controls),
            help=f"At most {LONGEST_JSON:,} bytes. Every field is checked.",
        )


def draw_refusal() -> None:
    """Why the last file was not loaded."""
    refused = st.session_state.get(_REFUSED)
    if refused:
        st.error(f"The file was not loaded. {plain(refused)}", icon=":material/error:")


def _load(controls: Controls) -> None:
    """Take the recipe of the file; a callback."""
    file = st.session_state.get(FILE_KEY)
    if file is not None:
        st.session_state[_REFUSED] = load(controls, file.read(LONGEST_JSON + 1))


def load(controls: Controls, data: bytes) -> str:
    """Make a file's recipe that of the page. Gives the sentence of a refusal; empty where there is none."""
    try:
        put(controls, to_text(from_json(data)))
    except ValueError as error:
        return str(error)
    return ""
