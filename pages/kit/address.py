"""The page's address: when it decides the controls, and how it follows them.

Streamlit sends the browser's query string with every run. It is mostly an echo of what this module wrote,
possibly late. The string decides where the reader has just arrived, or went Back, Forward or along a link.
Switching pages in the sidebar leaves a bare address in the history: what it showed is remembered for Back.

The address is written at the end of a run: a browser that knows it has had the run's values before it.
A run is late where the browser asked for it before it had the answer of the run before: its query string is
older than the last one written here, or the run before was cut off. The run before may also have called back
and drawn nothing: the timer of a fragment sometimes brings a click before the click's own message. A late run
reports old values of widgets that the program has set since. Those are no choice of the reader (`is_old`).
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
_TOLD_KEY = "_told"
_ECHOES_KEPT = 16
_EMBED = ("embed", "embed_options")
# The parameters of a page's frame: the step of a lesson beside it, and the mode for a projector. They are
# no controls. `parameters` leaves them out, `write` keeps them, and `link` does not pass them on.
FRAME = ("lesson", "present")


class Reading(Enum):
    """The meaning of the query string. A step of a lesson decides like history."""

    ECHO = "what this page wrote: the controls decide"
    LINK = "a link: the parameters it names decide, the others keep their value"
    HISTORY = "Back or Forward: the address decides, a parameter it leaves out is at its default"


@dataclass
class _Seen:
    """The query strings written or received since the reader arrived on `page`."""

    page: str
    lesson: str | None = None
    arrived_bare: bool = False
    queries: deque[str] = field(default_factory=lambda: deque(maxlen=_ECHOES_KEPT))
    runs: int = 0
    is_cut_off: bool = False
    # What the address is to show at the end of the run.
    wanted: dict[str, str] | None = None
    # `_this_run` of the callback that has told a value since the page was drawn.
    teller: object = None


@dataclass(frozen=True)
class _Told:
    """A value that the program gave a widget, or took from it, in a run of this page."""

    value: object
    run: int


def parameters() -> dict[str, list[str]]:
    return {key: st.query_params.get_all(key) for key in st.query_params if key not in FRAME}


def frame_parameters() -> dict[str, str]:
    found = {key: st.query_params.get_all(key) for key in FRAME if key in st.query_params}
    return {key: texts[0] for key, texts in found.items() if texts}


def let_decide() -> None:
    """Let the address of the next run decide every control, as a new step of a lesson does."""
    st.session_state[_DECIDES_KEY] = True


def foreign(own: Iterable[str]) -> dict[str, list[str]]:
    """The parameters of a link that means another page: those of its controls are not all among `own`.

    There are none where the reader came with Back or Forward: such an address was left on purpose.
    """
    context = get_script_run_ctx()
    found = parameters()
    if (context is not None and context.is_history_navigation) or found.keys() <= set(own):
        return {}
    return found


def read() -> tuple[Reading, dict[str, list[str]]]:
    """The meaning of this run's address. It is remembered, so that its echo means nothing."""
    context = get_script_run_ctx()
    page = context.page_script_hash if context else ""
    back_or_forward = bool(context and context.is_history_navigation)
    found = parameters()
    query = urlencode(found, doseq=True)
    seen: _Seen | None = st.session_state.get(_STATE_KEY)
    lesson = frame_parameters().get("lesson")
    is_new_step = lesson is not None and (seen is None or (seen.page, seen.lesson) != (page, lesson))
    is_new_step = st.session_state.pop(_DECIDES_KEY, False) or is_new_step
    if back_or_forward or is_new_step:
        reading = Reading.HISTORY
    elif seen is None or seen.page != page or query not in seen.queries:
        reading = Reading.LINK
    else:
        reading = Reading.ECHO
    if seen is None or seen.page != page:
        seen = st.session_state[_STATE_KEY] = _Seen(page)
        st.session_state[_TOLD_KEY] = {}
    if not _is_late(seen, query):
        _forget(seen.runs)
    seen.runs += 1
    seen.is_cut_off, seen.teller, seen.wanted = True, None, None
    seen.lesson = lesson
    seen.queries.append(query)
    seen.arrived_bare = reading is Reading.LINK and not found
    if reading is Reading.HISTORY and not found and not is_new_step:
        found = {key: [text] for key, text in st.session_state.get(_BARE_KEY, {}).get(page, {}).items()}
    return reading, found


def write(wanted: Mapping[str, str]) -> bool:
    """Show `wanted` in the address bar once the page is drawn. Returns False where it is there already."""
    seen: _Seen | None = st.session_state.get(_STATE_KEY)
    if seen is not None and (seen.arrived_bare or not wanted):
        st.session_state.setdefault(_BARE_KEY, {})[seen.page] = dict(wanted)
    if seen is not None:
        seen.wanted = dict(wanted)
    return _is_new(wanted)


def end_run() -> None:
    """Show the address, now that the page has been drawn to its end.

    A browser that knows the address has then had all values before it.
    """
    if (seen := st.session_state.get(_STATE_KEY)) is None:
        return
    seen.is_cut_off = False
    if seen.wanted is not None and _is_new(seen.wanted):
        seen.queries.append(urlencode(seen.wanted))
        st.query_params.from_dict({**seen.wanted, **frame_parameters()})


def _is_new(wanted: Mapping[str, str]) -> bool:
    return parameters() != {key: [text] for key, text in wanted.items()}


def _is_late(seen: _Seen, query: str) -> bool:
    is_untold = seen.is_cut_off or (seen.teller is not None and seen.teller is not _this_run())
    return bool(seen.queries) and (is_untold or query != seen.queries[-1])


def _this_run() -> object:
    """An object that Streamlit makes for each run: callbacks and the page of one run share it."""
    context = get_script_run_ctx()
    return None if context is None else context.cursors


def told(key: str, before: object, now: object) -> None:
    """Remember that the program has replaced a widget's value, which the browser may still report."""
    seen: _Seen | None = st.session_state.get(_STATE_KEY)
    every = _every_told()
    run = 0 if seen is None else seen.runs
    if seen is not None and not seen.is_cut_off and seen.teller is None:
        seen.teller = _this_run()
    every[key] = [*every.get(key, []), _Told(before, run), _Told(now, run)]


def _every_told() -> dict[str, list[_Told]]:
    return st.session_state.setdefault(_TOLD_KEY, {})


def last_told(key: str) -> object:
    """The value that the program has set last, of a widget whose value `is_old`."""
    return _every_told()[key][-1].value


def is_old(key: str, value: object) -> bool:
    """True where a late run reports a value of the widget `key` that the program itself gave it.

    For callbacks, and for what comes before `read`.
    """
    seen: _Seen | None = st.session_state.get(_STATE_KEY)
    context = get_script_run_ctx()
    if seen is None or context is None or seen.page != context.page_script_hash:
        return False
    query = urlencode(parameters(), doseq=True)
    return _is_late(seen, query) and any(one.value == value for one in _every_told().get(key, ()))


def _forget(run: int) -> None:
    """Forget what was told before run number `run`, which the browser has had."""
    every = _every_told()
    for key in every:
        every[key] = [one for one in every[key] if one.run >= run]


def link(wanted: Mapping[str, str]) -> str:
    """The address that opens this page with `wanted`, embedded where this page is."""
    base = st.context.url or ""
    query = urlencode([*wanted.items(), *_embedding()])
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
    """Open the page that has taken over what the address asks for; call it right after `guard()`."""
    for (key, value), (script, parameters) in moved.items():
        if st.query_params.get_all(key) != [value]:
            continue
        if script is None:
            st.query_params.update(parameters)
        else:
            st.switch_page(script, query_params={**parameters, **frame_parameters()})
