"""Pictures of the steps as they open, before an answer: for paper, and beside a class's answers.

`python -m tests.browser.steps` draws them.
"""

import base64
import json
from functools import lru_cache
from html import escape
from pathlib import Path

import streamlit as st

from pages.kit.lesson.chapter import LESSONS, Step
from pages.kit.lesson.library import Place

PICTURES = LESSONS / "pictures"
INDEX = PICTURES / "index.json"  # what each picture shows, by the step's key


def shown_by(step: Step) -> dict[str, object]:
    """Page and settings of a picture."""
    return {"page": step.page, **step.set}


def path_of(place: Place) -> Path:
    return PICTURES / f"{place.key}.png"


def picture_of(place: Place) -> Path | None:
    """Picture of a step; None if the step's settings have changed since."""
    return path_of(place) if _index(INDEX).get(place.key) == shown_by(place.step) else None


def draw_step_picture(place: Place, look: str) -> None:
    """Draw a step's picture, if it has one, in the CSS classes `look`."""
    if (picture := picture_of(place)) is not None:
        data = base64.b64encode(picture.read_bytes()).decode()
        alt = escape(f"The picture of the page as the step “{place.step.title}” opens it.")
        st.html(f'<img class="{look}" alt="{alt}" src="data:image/png;base64,{data}">')


@lru_cache(maxsize=4)
def _index(path: Path) -> dict[str, dict[str, object]]:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
