"""The page's address, which decides the controls after an arrival, and follows them afterwards.

Streamlit sends the query string with every run, mostly a late echo of this module's. An arrival is Back,
Forward or a link. What a page writes after its reader has left it means nothing on the next page.

`end_run` writes the address after all values of the run. A run is late if its query string is older, or if
the run before was cut off or drew nothing (a fragment's timer may bring a click first). A late run reports
old values of widgets that the program has set since (`is_old`).
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from urllib.parse import parse_qsl, urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

_STATE_KEY = "_address"
_BARE_KEY = "_shown_at_bare_address"
_DECIDES_KEY = "_address_decides"
_SETTINGS_KEY = "_told"
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


@dataclass
class _Arrival:
    """Query strings written or received since the arrival on `page`."""

    page: str
    lesson: str | None = None
    arrived_bare: bool = False
    queries: deque[str] = field(default_factory=lambda: deque(maxlen=_ECHOES))
    # Query strings of the page before.
    left: tuple[str, ...] = ()
    runs: int = 0
    is_cut_off: bool = False
    # What the address is to show at the end of the run.
    target: dict[str, str] | None = None
    # `_this_run` of the callback that has told a value since the page was drawn.
    setting_run: object = None


@dataclass(frozen=True)
class _Setting:
    """A value that the program gave a widget, or took from it, in run `run`."""

    value: object
    run: int


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
        left = () if arrival is None else tuple(arrival.queries)
        arrival = st.session_state[_STATE_KEY] = _Arrival(page, left=left)
        st.session_state[_SETTINGS_KEY] = {}
    if not _is_late(arrival, query):
        for key, settings in _settings().items():
            _settings()[key] = [one for one in settings if one.run >= arrival.runs]
    arrival.runs += 1
    arrival.is_cut_off, arrival.setting_run, arrival.target = True, None, None
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
    """Show the address after the page's values: a browser that knows it has had them."""
    if (arrival := st.session_state.get(_STATE_KEY)) is None:
        return
    arrival.is_cut_off = False
    if arrival.target is not None and _is_new(arrival.target):
        arrival.queries.append(urlencode(arrival.target))
        st.query_params.from_dict({**arrival.target, **frame_parameters()})


def _is_new(values: Mapping[str, str]) -> bool:
    return parameters() != {key: [text] for key, text in values.items()}


def _is_late(arrival: _Arrival, query: str) -> bool:
    is_unsent = arrival.is_cut_off or (
        arrival.setting_run is not None and arrival.setting_run is not _this_run()
    )
    return bool(arrival.queries) and (is_unsent or query != arrival.queries[-1])


def _this_run() -> object:
    """Return what callbacks and page share for one run."""
    context = get_script_run_ctx()
    return None if context is None else context.cursors


def note_setting(key: str, before: object, now: object) -> None:
    """Remember that the program replaced a widget's value."""
    arrival: _Arrival | None = st.session_state.get(_STATE_KEY)
    settings = _settings()
    run = 0 if arrival is None else arrival.runs
    if arrival is not None and not arrival.is_cut_off and arrival.setting_run is None:
        arrival.setting_run = _this_run()
    settings[key] = [*settings.get(key, []), _Setting(before, run), _Setting(now, run)]


def _settings() -> dict[str, list[_Setting]]:
    return st.session_state.setdefault(_SETTINGS_KEY, {})


def last_setting(key: str) -> object:
    return _settings()[key][-1].value


def is_old(key: str, value: object) -> bool:
    """Return True if a late run reports a value of `key` that the program replaced. For use before `read`."""
    arrival: _Arrival | None = st.session_state.get(_STATE_KEY)
    context = get_script_run_ctx()
    if arrival is None or context is None or arrival.page != context.page_script_hash:
        return False
    query = urlencode(parameters(), doseq=True)
    return _is_late(arrival, query) and any(one.value == value for one in _settings().get(key, ()))


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
