"""Messages between parent and worker: one JSON object a line, over the worker's stdin and stdout."""

import json
from dataclasses import dataclass
from typing import Any

from kernels.typed import checked
from kernels.worker.jobs import Job, Result, packed, unpack_job, unpack_result


@dataclass(frozen=True)
class Do:
    """Parent: run this job."""

    run: int
    job: Job


@dataclass(frozen=True)
class Stop:
    """Parent: end this run as soon as possible."""

    run: int


@dataclass(frozen=True)
class Ready:
    """Worker: it has loaded; jobs will run on `device`."""

    device: str


@dataclass(frozen=True)
class Began:
    """Worker: it has the job, and begins now."""

    run: int


@dataclass(frozen=True)
class Progress:
    """Worker: `fraction` of a run is done. `partial` is the result so far, if its kind of job has one."""

    run: int
    fraction: float
    note: str
    partial: Result | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.fraction <= 1.0:
            raise ValueError(f"a fraction is a number from 0 to 1, got {self.fraction!r}")


@dataclass(frozen=True)
class Finished:
    """Worker: the run's result."""

    run: int
    row: Result


@dataclass(frozen=True)
class Refused:
    """Worker: the run cannot be done; one sentence says why. The worker goes on."""

    run: int
    reason: str


@dataclass(frozen=True)
class Halted:
    """Worker: the run ended on request."""

    run: int


Message = Do | Stop | Ready | Began | Progress | Finished | Refused | Halted

_KINDS = {
    kind.__name__.lower(): kind for kind in (Do, Stop, Ready, Began, Progress, Finished, Refused, Halted)
}

_SAY = "say"
_OPENING = f'{{"{_SAY}": "'.encode()


def may_become_message(start: bytes) -> bool:
    """True if a message may begin with these bytes. They are the start of a line that has not ended yet."""
    return start[: len(_OPENING)] == _OPENING[: len(start)]


def encode(message: Message) -> str:
    """The message as one line, newline included."""
    fields: dict[str, Any] = dict(vars(message))
    for name in ("job", "row", "partial"):
        if fields.get(name) is not None:
            fields[name] = packed(fields[name])
    return json.dumps({_SAY: type(message).__name__.lower(), **fields}) + "\n"


def decode(line: str) -> Message:
    """The inverse of encode. Raises ValueError for a line that is no message."""
    try:
        fields = json.loads(line)
    except RecursionError as error:
        raise ValueError("a message is no such nest of lists and objects") from error
    kind = _KINDS.get(str(fields.pop(_SAY, None))) if isinstance(fields, dict) else None
    if kind is None:
        raise ValueError(f"a message is an object that says one of {', '.join(_KINDS)}")
    try:
        if "job" in fields:
            fields["job"] = unpack_job(fields["job"])
        if "row" in fields:
            fields["row"] = unpack_result(fields["row"])
        if fields.get("partial") is not None:
            fields["partial"] = unpack_result(fields["partial"])
        return checked(kind(**fields))
    except TypeError as error:
        raise ValueError(f"this is not what {kind.__name__} has: {error}") from error
