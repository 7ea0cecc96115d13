"""The texts to copy of pages without a recipe: `pages/<page>/in_code.toml`.

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
"""

import tomllib
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

from kernels.paths import TOP

PAGES = TOP / "pages"
NAME = "in_code.toml"
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
    """The recipes that a page shows."""

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
    found: dict[str, PageTexts] = {}
    for path in sorted(PAGES.glob(f"*/{NAME}")):
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        made = PageTexts(
            texts=tuple(_text(one, path.parent.name) for one in data.get("texts", ())),
            recipe=Shown(data.get("recipe", "none")),
            recipes_key=data.get("recipes_key", ""),
            family_key=data.get("family_key", ""),
        )
        found |= dict.fromkeys(data["pages"], made)
    return found


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
