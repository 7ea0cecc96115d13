"""What a page computes in the pool: the last picture stays on the screen until the new one is there.

shown = computed("curves", (terms, seed), [Call(errors, (name, terms, seed)) for name in units])
if shown is not None:
    terms, seed = shown.asked                 # what the picture is of; older than the controls at times
    draw(dict(zip(units, shown.parts)))
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import streamlit as st

from pages.kit.computing.pool import Answer, Call, pool
from pages.kit.gemm.queue_panel import session
from pages.kit.inert import plain

# Seconds that a run of the page waits, without holding the interpreter, before it shows the last picture
PATIENCE_S = 0.12

POLL_S = 0.5

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True)
class Shown(Generic[T]):
    """A computation that has ended: what was asked, and a value for each call, in their order."""

    asked: T
    parts: tuple[Any, ...]


def computed(name: str, asked: T, calls: Sequence[Call], *, doing: str = "Computing") -> Shown[T] | None:
    """The values of the calls; until they are there, the last ones of this session under this name.

    Where values are missing, a bar says how many. None where there is nothing to show yet, or a call failed:
    the reason is on the page then. Raises other errors of a call than a refusal.
    """
    asker, kept = f"{session().name} {name}", f"_computed {name}"
    answers = pool().ask(asker, calls)
    if None in answers and pool().wait(asker, PATIENCE_S):
        answers = pool().ask(asker, calls)
    if None in answers:
        last: Shown[T] | None = st.session_state.get(kept)
        _panel(asker, tuple(calls), doing, last is not None)
        return last
    for answer in answers:
        if answer.fault is not None:
            raise answer.fault
    failures = [answer.failure for answer in answers if answer.failure is not None]
    if failures:
        st.error(plain(failures[0]), icon=":material/error:")
        st.button("Try again", key=f"again {name}", on_click=pool().forget, args=(list(calls),))
        return None
    shown = Shown(asked, tuple(answer.value for answer in answers))
    st.session_state[kept] = shown
    return shown


@st.fragment(run_every=POLL_S)
def _panel(asker: str, calls: tuple[Call, ...], doing: str, has_last: bool) -> None:
    answers: list[Answer | None] = pool().ask(asker, calls)
    done = len(answers) - answers.count(None)
    if done == len(answers):
        st.rerun()
    until = " Until then, you see your last choice." if has_last else ""
    st.progress(done / len(answers), text=f"{doing}: {done} of {len(answers)} parts are done.{until}")
