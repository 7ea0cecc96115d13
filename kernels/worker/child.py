"""The worker's side: read a job, run it, report on it.

The output of a job goes to stderr, so that stdout carries messages only. The process ends when its stdin
closes, even in the middle of a job: it never outlives the app.
"""

import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TextIO

from kernels.worker.jobs import Job, Result
from kernels.worker.messages import (
    Began,
    Do,
    Finished,
    Halted,
    Message,
    Progress,
    Ready,
    Refused,
    Stop,
    decode,
    encode,
)

PROGRESS_EVERY_S = 0.05


class CannotRun(Exception):
    """Raised for a job that cannot be done; the text is one sentence for the reader."""


class StoppedOnRequest(Exception):
    """Raised by a job that found `stopped()` true."""


@dataclass(frozen=True)
class Engine:
    """Runs the jobs: `measure(job, progress=..., stopped=...)` returns the result. For a job that gave way
    it is given the partial result, `so_far`.

    It raises CannotRun, ValueError or MemoryError for a job that cannot be done, and StoppedOnRequest for one
    that was asked to stop. Anything else ends the worker. It may call `progress(fraction, note)`, with its
    result so far as an optional third argument. `get_ready(job)` runs in a thread beside a job: it makes one
    ready that will probably come next.
    """

    device: str
    measure: Callable[..., Result]
    get_ready: Callable[[Job], None] = lambda job: None


def serve(load: Callable[[], Engine]) -> None:
    """Load the engine, then run jobs until stdin closes."""
    voice = _Voice(claim_stdout())
    inbox: SimpleQueue[Do] = SimpleQueue()
    stops: set[int] = set()
    threading.Thread(target=_listen, args=(inbox, stops), daemon=True).start()
    engine = load()
    voice.say(Ready(engine.device))
    while True:
        do = inbox.get()
        voice.say(Began(do.run))
        if do.coming:
            threading.Thread(target=_get_ready, args=(engine, do.coming), daemon=True).start()
        voice.say(_answer(engine, do, stops, voice))


def _get_ready(engine: Engine, coming: tuple[Job, ...]) -> None:
    for job in coming:
        engine.get_ready(job)


def claim_stdout() -> TextIO:
    """A stream to the old stdout; stdout itself becomes stderr, for C code and for child processes too."""
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return stream


def _listen(inbox: SimpleQueue[Do], stops: set[int]) -> None:
    for line in sys.stdin:
        match decode(line):
            case Do() as do:
                inbox.put(do)
            case Stop(run):
                stops.add(run)
    os._exit(0)


class _Voice:
    """Writes messages; progress at most every PROGRESS_EVERY_S, unless a partial result comes with it.

    A note on work that has no part done yet is always written: what it names may take long.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._next_progress = 0.0

    def say(self, message: Message) -> None:
        if isinstance(message, Progress):
            now = time.monotonic()
            if now < self._next_progress and message.partial is None and message.fraction > 0:
                return
            self._next_progress = now + PROGRESS_EVERY_S
        self._stream.write(encode(message))
        self._stream.flush()


def _answer(engine: Engine, do: Do, stops: set[int], voice: _Voice) -> Message:
    """Run one job and return the message that ends it."""

    def progress(fraction: float, note: str, partial: Result | None = None) -> None:
        voice.say(Progress(do.run, min(1.0, max(0.0, float(fraction))), note, partial))

    try:
        given = {} if do.so_far is None else {"so_far": do.so_far}
        row = engine.measure(do.job, progress=progress, stopped=lambda: do.run in stops, **given)
        return Finished(do.run, row)
    except StoppedOnRequest:
        return Halted(do.run)
    except (CannotRun, ValueError) as error:
        return Refused(do.run, str(error))
    except MemoryError as error:
        return Refused(do.run, _out_of_memory(do.job, error))


def _out_of_memory(job: Job, error: MemoryError) -> str:
    what = str(error) or f"{job.size} does not fit into this machine's memory"
    return f"{what.rstrip('.')}. {job.size_advice} and run it again."
