"""The state of a job in words."""

from kernels.worker.jobs import Partial, kind_of
from kernels.worker.states import Done, Failed, Running, Starting, State, Stopped, Waiting

_SOON_S = 1.0
_MINUTE_S, _HOUR_S = 60, 3600


def in_words(state: State) -> str:
    """A state in a few words."""
    match state:
        case Waiting(ahead, _, None) if state.compiling_s is not None:
            return f"{_place(ahead)}: compiling its code, {state.compiling_s:.0f} s"
        case Waiting(ahead, _, None):
            return f"{_place(ahead)}, {expected(state.expected_s)}"
        case Waiting(ahead, _, partial) if kind_of(partial).partial is Partial.PART:
            return f"it goes on where it was, after those who wait for a first answer: {_place(ahead)}"
        case Waiting(ahead):
            return f"the careful answer comes once nobody waits for a first one: {_place(ahead)}"
        case Starting(elapsed_s):
            return f"starting the worker, {elapsed_s:.0f} s"
        case Running():
            return f"{state.note}, {state.elapsed_s:.0f} s"
        case Done():
            return "done"
        case Failed(reason) | Stopped(reason):
            return reason


def _place(ahead: int) -> str:
    return f"waiting, {ahead} ahead of you" if ahead else "next"


def expected(seconds: float) -> str:
    """A time to wait, roughly."""
    return "about a second" if seconds <= _SOON_S else f"about {_length(seconds)}"


def ago(seconds: float) -> str:
    """A time that has passed, roughly."""
    return "just now" if seconds <= _SOON_S else f"{_length(seconds)} ago"


def _length(seconds: float) -> str:
    if seconds < _MINUTE_S:
        return f"{seconds:.0f} s"
    if seconds < _HOUR_S:
        return f"{seconds / _MINUTE_S:.0f} min"
    return f"{seconds / _HOUR_S:.0f} h"
