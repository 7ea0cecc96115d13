"""The students on each step: counts, and numbers of students on demand."""

from collections import defaultdict

import streamlit as st

from pages.kit.charts.ink import INKS
from pages.kit.classroom.answers import POLL_S
from pages.kit.classroom.shared import shared
from pages.kit.classroom.store import store
from pages.kit.lesson.library import library
from pages.kit.shell import theme
from pages.kit.tables import grid

_NAMES_KEY = "_class_names"


def student(number: int) -> str:
    """The name of a student."""
    return f"Student {number}"


@st.fragment(run_every=POLL_S)
def draw_roster() -> None:
    """Draw how many students are on each step, in the order of the lesson, and who they are."""
    numbers, here = store().students(), shared().present()
    by_step: dict[str, list[str]] = defaultdict(list)
    for visitor, step in store().places().items():
        if visitor in numbers and not shared().is_teacher(visitor):
            by_step[step].append(visitor)
    if not by_step:
        st.caption("Nobody is in the lesson yet.")
        return
    shows_names = st.session_state.get(_NAMES_KEY, False)
    st.html(grid(*_table(by_step, numbers, set(here), shows_names), INKS[theme()], names=1 + shows_names))
    st.button("Hide who" if shows_names else "Show who", key="class_names", on_click=_turn_names)


def _table(
    by_step: dict[str, list[str]], numbers: dict[str, int], here: set[str], shows_names: bool
) -> tuple[list[str], list[list[str]]]:
    order = {place.key: place for place in library().places}
    rows = []
    for step in sorted(by_step, key=lambda key: ([*order].index(key) if key in order else len(order), key)):
        place = order.get(step)
        who = sorted(by_step[step], key=numbers.__getitem__)
        names = [", ".join(student(numbers[one]) for one in who)] if shows_names else []
        title = f"{place.words}: {place.step.title}" if place else step
        rows.append([title, *names, str(len(who)), str(sum(one in here for one in who))])
    return ["Step", *(["Who"] if shows_names else []), "Students", "Page open"], rows


def _turn_names() -> None:
    st.session_state[_NAMES_KEY] = not st.session_state.get(_NAMES_KEY, False)
