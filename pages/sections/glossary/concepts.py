"""Section "Where is what shown": each concept of the field, and the page and the controls that show it."""

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import streamlit as st

from kernels.paths import ASSETS
from pages.kit.inert import plain
from pages.kit.terms.fields import Field, is_controls, is_sentence, is_text, problems
from pages.kit.terms.glossary import params

CONCEPTS = ASSETS / "concepts.toml"
FIELDS = {
    "about": Field(is_text, "a subject"),
    "concept": Field(is_text, "a concept"),
    "says": Field(is_sentence, "one sentence of at most 25 words on what one sees there"),
    "page": Field(is_text, "the name of a page's script"),
    "set": Field(is_controls, "a table of controls, each with a text, a number, a truth or a list of texts"),
}
INTRO = (
    "Every concept of training in FP8, in the order in which it is usually taught. Each link opens the page "
    "that shows it, with the controls set."
)


@dataclass(frozen=True, kw_only=True)
class Concept:
    """One concept of a subject, and the place that shows it."""

    about: str
    concept: str
    says: str
    page: str
    controls: dict[str, object]


def read(path: Path) -> tuple[Concept, ...]:
    """The concepts of a file, in its order.

    Raises ValueError, with a line for each, where fields are missing, unknown or wrong.
    """
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("concepts", [])
    wrong = [
        f"concept {number}: {problem}"
        for number, entry in enumerate(entries, start=1)
        for problem in problems(entry, FIELDS)
    ]
    if wrong:
        raise ValueError("\n".join([f"{path.name} is not as it should be:", *wrong]))
    return tuple(
        Concept(**{key: entry[key] for key in entry if key != "set"}, controls=entry["set"])
        for entry in entries
    )


@lru_cache(maxsize=1)
def concepts() -> tuple[Concept, ...]:
    """The concepts of this app, read once."""
    return read(CONCEPTS)


def show() -> None:
    """Draw every concept under its subject, with its link."""
    st.markdown(INTRO)
    about = ""
    for one in concepts():
        if one.about != about:
            about = one.about
            st.header(about)
        st.page_link(
            f"pages/{one.page}.py",
            label=f"**{plain(one.concept)}**",
            icon=":material/arrow_forward:",
            query_params=params(one.controls),
        )
        st.caption(plain(one.says))
