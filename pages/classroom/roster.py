"""Follow me, the students on each step, those who wait for the GPU, and the end of a class."""

from collections import defaultdict

import streamlit as st

from kernels.worker.jobs import InLine
from pages.classroom.answers import draw_export, title
from pages.classroom.door import OVER_KEY, by_teacher, is_teacher
from pages.kit.charts.words import count
from pages.kit.classroom.answers import POLL_S
from pages.kit.classroom.shared import shared, visitor
from pages.kit.classroom.store import store
from pages.kit.gemm.queue_panel import Workers, in_words
from pages.kit.lesson.library import Place, library
from pages.kit.lesson.prediction import truth_is_out
from pages.kit.tables import grid
from pages.kit.view import here, page_ink


def ask(place: Place) -> None:
    """Publish the question to students' pages, and lead those there that follow."""
    if is_teacher():
        shared().question = place.key
        shared().publish(place.step.page, place.parameters(truth_is_out(place)))


@st.fragment(run_every=POLL_S)
def draw_lead(place: Place | None) -> None:
    if not is_teacher():
        st.rerun()
    here = shared().present().values()
    follow = sum(one.follows for one in here)
    lead = shared().led()
    with st.container(horizontal=True, vertical_alignment="center"):
        if lead is None:
            st.button("Follow me", key="lead_start", type="primary", on_click=_lead, args=(True, place))
            st.caption(f"Open pages of students: {len(here)}. Each is on its own way.")
        else:
            st.button("Let them go", key="lead_end", on_click=_lead, args=(False, None))
            where = "the page that you open next" if lead.page is None else f"your page `{lead.page}`"
            st.caption(f"Open pages of students: {len(here)}. Of these, {follow} follow to {where}.")


@st.fragment
def draw_ends() -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        reset = by_teacher(store().reset)
        with st.popover("Forget all answers", icon=":material/delete:"):
            st.markdown("Forget all students, places and answers? Download the answers first.")
            st.button("Forget everything", key="class_reset", type="primary", on_click=reset)
        with st.popover("End the class"):
            st.markdown(f"So far, {summary()}. Students' pages then ask no more.")
            if st.button("End it now", key="class_end", type="primary", on_click=_end):
                st.rerun()
        st.button("Leave the teacher's view", key="class_leave", on_click=_leave)


def _lead(is_led: bool, place: Place | None) -> None:
    if is_teacher():
        shared().lead(is_led)
        if place is not None:
            ask(place)


def _end() -> None:
    if is_teacher():
        st.session_state[OVER_KEY] = summary()
        shared().lead(False)
        store().open(False)
        _leave()


def summary() -> str:
    """The present class in figures, as the end of a sentence."""
    answers = [one for one in store().answers() if one.class_number == store().number]
    steps = count(len({one.step for one in answers}), "question")
    students = count(len({one.student for one in answers}), "student")
    return f"{students} gave {count(len(answers), 'answer')} to {steps}"


def draw_over() -> None:
    """Draw the figures and the answers of the class that this teacher has ended."""
    if words := st.session_state.get(OVER_KEY):
        with here().warning, st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**The class is over:** {words}.", width="content")
            draw_export()


def _leave() -> None:
    shared().leave(visitor())


def student(number: int) -> str:
    return f"Student {number}"


@st.fragment(run_every=POLL_S)
def draw_roster() -> None:
    numbers, here = store().students(), shared().present()
    by_step: dict[str, list[str]] = defaultdict(list)
    for one, step in store().places().items():
        if one in numbers and not shared().is_teacher(one):
            by_step[step].append(one)
    if not by_step:
        st.caption("Nobody is in the lesson yet.")
        return
    shows_names = st.toggle("Show who", key="class_names")
    st.html(grid(*_table(by_step, numbers, set(here), shows_names), page_ink(), names=1 + shows_names))


def _table(
    by_step: dict[str, list[str]], numbers: dict[str, int], here: set[str], shows_names: bool
) -> tuple[list[str], list[list[str]]]:
    order = {place.key: place for place in library().places}
    rows = []
    for step in sorted(by_step, key=lambda key: ([*order].index(key) if key in order else len(order), key)):
        place = order.get(step)
        who = sorted(by_step[step], key=numbers.__getitem__)
        names = [", ".join(student(numbers[one]) for one in who)] if shows_names else []
        rows.append(
            [title(place) if place else step, *names, str(len(who)), str(sum(one in here for one in who))]
        )
    return ["Step", *(["Who"] if shows_names else []), "Students", "Page open"], rows


_MOST_ROWS = 30


@st.fragment(run_every=POLL_S)
def draw_line(workers: Workers) -> None:
    line = workers.queue.everyone()
    if not line:
        st.caption("Nobody waits, and nothing runs.")
        return
    rows = [[one.job.title, in_words(one.state), who(one)] for one in line[:_MOST_ROWS]]
    st.html(grid(["Run", "State", "Asked by"], rows, page_ink(), names=3))
    if len(line) > _MOST_ROWS:
        st.caption(f"{len(line) - _MOST_ROWS} more wait.")


def who(one: InLine) -> str:
    numbers = store().students()
    visitors = {present.session: name for name, present in shared().present().items()}
    names = []
    for session in one.sessions:
        number = numbers.get(visitors.get(session.partition("/")[0], ""))
        names.append("somebody" if number is None else student(number))
    return ", ".join(sorted(set(names)))
