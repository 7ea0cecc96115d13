"""The texts to copy of pages: `pages/<page>/in_code.toml`, and those of published recipes, `published.toml`.

    pages = ["formats"]                    # the scripts that show them

    [[texts]]
    library = "torch"
    title = "Cast and decode"
    code = '''
    import torch
    …
    '''
    note = "A sentence below it."          # left out where there is none

A text that cannot be has `why`, a sentence, in the place of `code`. `language` is "python" unless it says
otherwise. `recipe = "one"` beside `pages` shows the recipe on the screen as well. With `recipe = "several"`,
`recipes_key` is the key of the control that holds the recipes' names. `family_key` is that of a control that
takes all recipes of a family instead, if the page has one.

`assets/peers/<library>.json` holds the signatures of the names that the texts use, recorded from a release by
`python -m tests.peers.record`. What is installed here is run by the tests instead.
"""

import json
import tomllib
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from kernels.paths import TOP

PAGES = TOP / "pages"
NAME = "in_code.toml"
PUBLISHED = Path(__file__).with_name("published.toml")
LIBRARIES = ("torchao", "Transformer Engine")  # the libraries in whose words published recipes are given
RESULTS = "The formats of y, dx and dw are no part of it."
_FIELDS = {"library", "title", "code", "why", "note", "language"}


@dataclass(frozen=True, kw_only=True)
class CodeText:
    """A text in the words of a library, or `why` there is none."""

    library: str
    title: str
    code: str | None = None
    why: str = ""
    notes: tuple[str, ...] = ()
    language: str = "python"


class Shown(Enum):
    NONE = "none"
    ONE = "one"
    SEVERAL = "several"


@dataclass(frozen=True, kw_only=True)
class PageTexts:
    """The texts of a page, and the recipes that come before them; their keys are those of controls."""

    texts: tuple[CodeText, ...]
    recipe: Shown = Shown.NONE
    recipes_key: str = ""
    family_key: str = ""


@lru_cache(maxsize=1)
def page_texts() -> dict[str, PageTexts]:
    """The texts of every page that has some, by the page's name.

    Raises ValueError, a sentence, where a file is wrong.
    """
    by_page: dict[str, PageTexts] = {}
    for path in sorted(PAGES.glob(f"*/{NAME}")):
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        texts = PageTexts(
            texts=tuple(_text(one, path.parent.name) for one in data.get("texts", ())),
            recipe=Shown(data.get("recipe", "none")),
            recipes_key=data.get("recipes_key", ""),
            family_key=data.get("family_key", ""),
        )
        by_page |= dict.fromkeys(data["pages"], texts)
    return by_page


@lru_cache(maxsize=1)
def published() -> dict[str, tuple[CodeText, ...]]:
    """The texts of each published recipe by its name: one for each of `LIBRARIES`."""
    data = tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))
    return {
        name: tuple(_published(library, recipe[library]) for library in LIBRARIES)
        for name, recipe in data.items()
    }


def _published(library: str, data: dict[str, Any]) -> CodeText:
    notes = (*data.get("notes", ()), RESULTS) if "code" in data else ()
    return CodeText(library=library, title="", code=data.get("code"), why=data.get("why", ""), notes=notes)


def _text(data: dict[str, Any], folder: str) -> CodeText:
    unknown = sorted(data.keys() - _FIELDS)
    if unknown or ("code" in data) == ("why" in data):
        raise ValueError(
            f"a text of {folder}/{NAME} has a code or a why, and no field {unknown}: {data!r:.80}"
        )
    note = data.get("note")
    return CodeText(
        library=data["library"],
        title=data["title"],
        code=data["code"].strip("\n") + "\n" if "code" in data else None,
        why=data.get("why", ""),
        notes=(note,) if note else (),
        language=data.get("language", "python"),
    )


# Libraries that are not installed here, and the names of their files
RECORDED = {
    "torchao": "torchao",
    "Transformer Engine": "transformer_engine",
    "nvdlfw_inspect": "nvdlfw_inspect",
}
# Libraries that are, and the names of their packages
INSTALLED = {"torch": "torch", "ml_dtypes": "ml_dtypes", "Triton": "triton"}
# Those of which a text is a part of a kernel: its calls are bound to signatures, and nothing is run
BOUND = {"Triton"}
FOLDER = TOP / "assets" / "peers"


@dataclass(frozen=True, kw_only=True)
class Release:
    version: str
    date: str


@lru_cache(maxsize=len(RECORDED))
def release(library: str) -> Release:
    """The recorded release. Raises KeyError for a library that has none."""
    data = json.loads((FOLDER / f"{RECORDED[library]}.json").read_text(encoding="utf-8"))
    return Release(version=data["version"], date=data["date"])


@lru_cache(maxsize=16)
def checked_words(library: str) -> str:
    """The version that a library's texts were checked against, in a sentence."""
    if library in RECORDED:
        recorded = release(library)
        return f"Checked against the signatures of {library} {recorded.version}, recorded on {recorded.date}."
    if library in INSTALLED:
        how = "Bound to signatures" if library in BOUND else "Run"
        try:
            return f"{how} by this project's tests; here with {library} {version(INSTALLED[library])}."
        except PackageNotFoundError:
            return f"{how} by this project's tests; {library} is not installed here."
    return "Run by this project's tests."
