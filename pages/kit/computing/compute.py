"""A page's computation in the pool. Its last picture stays until the new one is there.

answer = computed("curves", (terms, seed), [Call(errors, (name, terms, seed)) for name in units])
if answer is not None:
    terms, seed = answer.arguments            # of the picture; older than the controls at times
    draw(dict(zip(units, answer.parts)))
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
class Computed(Generic[T]):
    """A finished computation: its arguments, and a value for each call in order."""

    arguments: T
    parts: tuple[Any, ...]


def computed(
    name: str, arguments: T, calls: Sequence[Call], *, label: str = "Computing"
) -> Computed[T] | None:
    """Values of the calls; until they are there, this session's last ones under this name.

    Returns None with nothing to show yet, or after a failure, whose reason the page shows. Raises a call's
    error other than a refusal.
    """
    asker, state_key = f"{session().name} {name}", f"_computed {name}"
    answers = pool().ask(asker, calls)
    if None in answers and pool().wait(asker, PATIENCE_S):
        answers = pool().ask(asker, calls)
    if None in answers:
        last: Computed[T] | None = st.session_state.get(state_key)
        _panel(asker, tuple(calls), label, last is not None)
        return last
    for answer in answers:
        if answer.fault is not None:
            raise answer.fault
    failures = [answer.failure for answer in answers if answer.failure is not None]
    if failures:
        st.error(plain(failures[0]), icon=":material/error:")
        st.button("Try again", key=f"again {name}", on_click=pool().forget, args=(list(calls),))
        return None
    result = Computed(arguments, tuple(answer.value for answer in answers))
    st.session_state[state_key] = result
    return result


@st.fragment(run_every=POLL_S)
def _panel(asker: str, calls: tuple[Call, ...], label: str, has_last: bool) -> None:
    answers: list[Answer | None] = pool().ask(asker, calls)
    count = len(answers) - answers.count(None)
    if count == len(answers):
        st.rerun()
    until = " Until then, you see your last choice." if has_last else ""
    st.progress(count / len(answers), text=f"{label}: {count} of {len(answers)} parts are done.{until}")
