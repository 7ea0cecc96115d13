"""The page's address, which decides the controls after an arrival, and follows them afterwards.

Streamlit sends the query string with every run, mostly a late echo of this module's. An arrival is Back,
Forward or a link. What a page writes after its reader has left it means nothing on the next page.

A late message reports old values of widgets that the program has set since: the browser sent it before it had
drawn them. The address in it may be new all the same. So each run ends with a hidden widget, which has the
number of the run: a message tells by it what the browser had drawn.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from urllib.parse import parse_qsl, urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

_STATE_KEY = "_address"
_BARE_KEY = "_shown_at_bare_address"
_DECIDES_KEY = "_address_decides"
RUN_KEY = "_run"  # of the hidden widget
_ECHOES = 16
_EMBED = ("embed", "embed_options")
# The parameters of a page's frame: the step of a lesson beside it, and the mode for a projector. They are
# no controls. `parameters` leaves them out, `write` keeps them, and `link` does not pass them on.
FRAME = ("lesson", "present")


class Reading(Enum):
    """Meaning of the query string. A step of a lesson decides like history."""

    ECHO = "what this page wrote: the controls decide"
    LINK = "a link: the parameters it names decide, the others keep their value"
    HISTORY = "Back or Forward: the address decides, a parameter it leaves out is at its default"


@dataclass(frozen=True)
class _Setting:
    """A value that the program gave a widget, or took from it; `run` draws it, or a later one."""

    value: object
    run: int


@dataclass
class _Arrival:
    """Query strings written or received since the arrival on `page`."""

    page: str
    lesson: str | None = None
    arrived_bare: bool = False
    queries: deque[str] = field(default_factory=lambda: deque(maxlen=_ECHOES))
    # Query strings of the page before.
    left: tuple[str, ...] = ()
    # Number of the session's newest run of a page; it is complete once its end is drawn.
    run: int = 0
    is_complete: bool = False
    # What the address is to show at the end of the run.
    target: dict[str, str] | None = None
    # Values that the program took from a widget or gave it, by key, until the browser has drawn them.
    settings: dict[str, list[_Setting]] = field(default_factory=dict)


def parameters() -> dict[str, list[str]]:
    return {key: st.query_params.get_all(key) for key in st.query_params if key not in FRAME}


def frame_parameters() -> dict[str, str]:
    return {key: texts[0] for key in FRAME if (texts := st.query_params.get_all(key))}


def let_decide() -> None:
    """Let the next run's address decide every control, as a new step of a lesson does."""
    st.session_state[_DECIDES_KEY] = True


def foreign(own: Iterable[str]) -> dict[str, list[str]]:
    """Parameters of a link to another page: not all are among `own`. Empty after Back or Forward."""
    context = get_script_run_ctx()
    query = parameters()
    if (context is not None and context.is_history_navigation) or query.keys() <= set(own):
        return {}
    return {} if _is_left(query) else query


def _is_left(query: dict[str, list[str]]) -> bool:
    """Return True if the page before wrote these parameters."""
    context, arrival = get_script_run_ctx(), st.session_state.get(_STATE_KEY)
    if arrival is None:
        return False
    is_new = context is not None and context.page_script_hash != arrival.page
    return urlencode(query, doseq=True) in (arrival.queries if is_new else arrival.left)


def read(own: Iterable[str]) -> tuple[Reading, dict[str, list[str]]]:
    """Read this run's address, and remember it: its echo means nothing. `own`: the keys of the controls."""
    context = get_script_run_ctx()
    page = context.page_script_hash if context else ""
    back_or_forward = bool(context and context.is_history_navigation)
    values = parameters()
    query = urlencode(values, doseq=True)
    if not values.keys() <= set(own) and _is_left(values):
        values = {}
    arrival: _Arrival | None = st.session_state.get(_STATE_KEY)
    lesson = frame_parameters().get("lesson")
    is_new_step = lesson is not None and (arrival is None or (arrival.page, arrival.lesson) != (page, lesson))
    is_new_step = st.session_state.pop(_DECIDES_KEY, False) or is_new_step
    if back_or_forward or is_new_step:
        reading = Reading.HISTORY
    elif arrival is None or arrival.page != page or query not in arrival.queries:
        reading = Reading.LINK
    else:
        reading = Reading.ECHO
    if arrival is None or arrival.page != page:
        left, run = ((), 0) if arrival is None else (tuple(arrival.queries), arrival.run)
        arrival = st.session_state[_STATE_KEY] = _Arrival(page, left=left, run=run)
    arrival.settings = {key: late for key in arrival.settings if (late := _late_settings(key))}
    arrival.run += 1
    arrival.is_complete, arrival.target = False, None
    arrival.lesson = lesson
    arrival.queries.append(query)
    arrival.arrived_bare = reading is Reading.LINK and not values
    if reading is Reading.HISTORY and not values and not is_new_step:
        values = {key: [text] for key, text in st.session_state.get(_BARE_KEY, {}).get(page, {}).items()}
    return reading, values


def write(values: Mapping[str, str]) -> bool:
    """Show these parameters once the page is drawn. Returns False if they are there already."""
    arrival: _Arrival | None = st.session_state.get(_STATE_KEY)
    if arrival is not None and (arrival.arrived_bare or not values):
        st.session_state.setdefault(_BARE_KEY, {})[arrival.page] = dict(values)
    if arrival is not None:
        arrival.target = dict(values)
    return _is_new(values)


def end_run() -> None:
    """Draw the number of the run, and show the address."""
    if (arrival := st.session_state.get(_STATE_KEY)) is None:
        return
    st.session_state[RUN_KEY] = str(arrival.run)
    st.text_input("Run", key=RUN_KEY)
    arrival.is_complete = True
    if arrival.target is not None and _is_new(arrival.target):
        arrival.queries.append(urlencode(arrival.target))
        st.query_params.from_dict({**arrival.target, **frame_parameters()})


def _is_new(values: Mapping[str, str]) -> bool:
    return parameters() != {key: [text] for key, text in values.items()}


def set_widget(key: str, value: object) -> None:
    """Set a widget's value in the session; the browser may report the one before."""
    undo_late(key)
    arrival: _Arrival | None = st.session_state.get(_STATE_KEY)
    before = st.session_state.get(key)
    if arrival is not None and before is not None and before != value:
        run = arrival.run + arrival.is_complete
        arrival.settings.setdefault(key, []).extend((_Setting(before, run), _Setting(value, run)))
    st.session_state[key] = value


def undo_late(key: str) -> bool:
    """Give a widget its value back if a late message reports an old one. Returns True for a late message."""
    settings = _late_settings(key)
    if not settings or (value := st.session_state.get(key)) not in [one.value for one in settings]:
        return False
    if (last := settings[-1].value) != value:
        st.session_state[key] = last
    return True


def unless_late(key: str, callback: Callable[[], None]) -> Callable[[], None]:
    """A widget's `on_change` for choices of the reader only."""
    return lambda: None if undo_late(key) else callback()


def _late_settings(key: str) -> list[_Setting]:
    """Settings that the browser had not drawn when it asked for this run."""
    arrival: _Arrival | None = st.session_state.get(_STATE_KEY)
    if arrival is None or key not in arrival.settings:
        return []
    text = str(st.session_state.get(RUN_KEY))
    run = int(text) if text.isdecimal() and len(text) < 19 else 0
    return [one for one in arrival.settings[key] if one.run > run]


def link(values: Mapping[str, str]) -> str:
    """Address of this page with these parameters."""
    base = st.context.url or ""
    query = urlencode([*values.items(), *_embedding()])
    return f"{base}?{query}" if query else base or "?"


def _embedding() -> list[tuple[str, str]]:
    context = get_script_run_ctx()
    if context is None or not st.context.is_embedded:
        return []
    return [pair for pair in parse_qsl(context.query_string) if pair[0].lower() in _EMBED]


# (parameter, value) of an old address -> (the script of the page that has it now, its parameters). None is
# the same page: the address keeps its other parameters.
Moved = Mapping[tuple[str, str], tuple[str | None, Mapping[str, str]]]


def follow_moved(moved: Moved) -> None:
    """Open the page that took over this address."""
    for (key, value), (script, parameters) in moved.items():
        if st.query_params.get_all(key) != [value]:
            continue
        if script is None:
            st.query_params.update(parameters)
        else:
            st.switch_page(script, query_params={**parameters, **frame_parameters()})
