"""Students' pages go where the teacher goes, until a student leaves.

The frame calls `draw_following` before a page runs and `publish` after it.
"""

from dataclasses import dataclass

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.kit import address
from pages.kit.classroom.answers import POLL_S
from pages.kit.classroom.shared import Lead, shared, visitor
from pages.kit.classroom.store import store
from pages.kit.lesson.library import library
from pages.kit.view import HIDDEN_KEY

OWN_PAGE = "classroom"  # the teacher's view: no class is led there
_KEY = "_following"
_LESSON, _OF_READER = "lesson", "present"


@dataclass
class _Following:
    version: int = 0
    left_number: int = 0
    last_address: tuple[str, dict[str, str]] | None = None


def draw_following(page: str) -> None:
    """Say who leads, and go there. Draws nothing without a class."""
    if page == OWN_PAGE or not store().is_open:
        return
    if shared().is_teacher(visitor()):
        _leading(page)
        return
    with st.container(key="frame_follow"):
        _following(page, visitor())


def publish(page: str) -> None:
    """Lead the class to this page, if this reader teaches and leads."""
    if page != OWN_PAGE and shared().is_teacher(visitor()):
        _mine().last_address = here = page, _address()
        shared().publish(*here)


@st.fragment(run_every=POLL_S)
def _leading(page: str) -> None:
    """Draw that the class follows, and publish changes inside a fragment."""
    if shared().led() is None:
        return
    here = page, _address()
    # Another tab of the teacher's, where nothing changes, leads nobody.
    if _mine().last_address not in (None, here):
        publish(page)
    with st.container(horizontal=True, vertical_alignment="center"):
        count = sum(one.follows for one in shared().present().values())
        st.caption(f":material/co_present: The class follows this page · {count} here", width="content")
        st.button("Stop", key="lead_stop", type="tertiary", on_click=shared().lead, args=(False,))


@st.fragment(run_every=POLL_S)
def _following(page: str, who: str) -> None:
    lead, mine = shared().led(), _mine()
    has_left = lead is not None and mine.left_number == lead.number
    context = get_script_run_ctx()
    follows = lead is not None and not has_left
    shared().saw(who, context.session_id if context else "", follows=follows)
    if lead is None:
        _draw_door()
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        words = "The teacher leads the class" if has_left else "You follow the teacher"
        st.caption(f":material/co_present: {words}", width="content")
        if has_left:
            st.button("Follow", key="follow_again", type="tertiary", on_click=_join, args=(mine,))
        else:
            st.button("Leave", key="follow_leave", type="tertiary", on_click=_leave, args=(mine, lead))
    if follows and mine.version != lead.version:
        mine.version = lead.version
        _go(page, lead)


def _draw_door() -> None:
    place = library().place(shared().question or "")
    if place is not None and st.query_params.get(_LESSON) != place.key:
        st.page_link(
            f"pages/{place.step.page}.py",
            label=f"Your class is at **{place.words}**. Join →",
            icon=":material/co_present:",
            query_params={_LESSON: place.key},
        )


def _go(page: str, lead: Lead) -> None:
    """Open the teacher's address; a step of the lesson opens as nobody has answered it.

    A student who has not predicted keeps the step: the next page would tell the answer.
    """
    target, here = dict(lead.parameters), _address()
    if lead.page is None or (lead.page, target) == (page, here):
        return
    step = target.get(_LESSON)
    if step is not None and step != here.get(_LESSON):
        target = {_LESSON: step}
    elif step is not None and st.session_state.get(HIDDEN_KEY, False):
        return
    else:
        address.let_decide()
    own = {key: text for key, text in address.frame_parameters().items() if key == _OF_READER}
    st.switch_page(f"pages/{lead.page}.py", query_params=target | own)


def _address() -> dict[str, str]:
    return {key: st.query_params[key] for key in st.query_params if key != _OF_READER}


def _mine() -> _Following:
    return st.session_state.setdefault(_KEY, _Following())


def _leave(mine: _Following, lead: Lead) -> None:
    mine.left_number = lead.number


def _join(mine: _Following) -> None:
    mine.left_number = mine.version = 0
