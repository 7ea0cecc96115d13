"""Processes beside the server for what takes longer than a rerun may hold the interpreter.

All sessions share them, and the results. A call is asked for, not waited for:

    wanted = [Call(errors_of, (name, seed)) for name in units]
    answers = pool().ask("session 7, curves", wanted)      # an Answer for each call that is done, else None

The function is imported in the process by its name: its module imports no Streamlit, which would take the
process half a second. Arguments and results are pickled; the arguments can be hashed.
"""

import atexit
import os
import pickle
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import CancelledError, Future, TimeoutError
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from itertools import count
from typing import Any

from cachetools import LRUCache
from cachetools.keys import typedkey
from loky.backend import get_context
from pebble import ProcessExpired, ProcessPool

from kernels.cores import cores

BYTES_KEPT = 64 << 20  # pickled bytes of all results that are kept; the one read longest ago is dropped first

LONGEST_S = 60.0  # seconds that one call may take

# Seconds after which a call that a broken process ended is tried again where a page asks for it
FAILURES_KEPT_S = 10.0

MOST_PROCESSES = 6
_TAKES = 2  # processes that may try one call


LOST = (ProcessExpired, BrokenProcessPool, CancelledError)  # what a future says whose process has ended
_NICENESS = 10
# Modules that most calls need: a fresh process has them before its first call
_IMPORTED = ("fp8core.accumulators", "fp8core.quantize", "fp8core.recipes")
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(eq=False)
class Seat:
    """A place for one process, which a library's pool of one process keeps.

    The processes of a larger pool share a lock. One that is killed while it holds the lock would keep all
    others waiting for a minute or more.
    """

    library: ProcessPool | None = None
    is_busy: bool = False

    def schedule(
        self, function: Callable[..., Any], args: tuple[Any, ...], longest_s: float
    ) -> Future[bytes]:
        """Hand a call over to the process, which is started where there is none."""
        if self.library is None or not self.library.active:
            # A process that is killed without work makes the library give its pool up.
            self.leave()
            self.library = _process()
        return self.library.schedule(_run, args=(function, args), timeout=longest_s)

    def leave(self) -> threading.Thread | None:
        library, self.library = self.library, None
        return _end(library)


def is_lost(future: Future[Any]) -> bool:
    """True if a process ended before it had an answer."""
    return future.cancelled() or isinstance(future.exception(), LOST)


def _process() -> ProcessPool:
    """A pool of the library with one process, a fresh Python.

    A fork would copy the server's locks. Python's own fresh start runs the main script again, and Streamlit
    makes the app's script the main one: loky's does not.
    """
    return ProcessPool(1, initializer=_behind_the_server, context=get_context("loky"))


def _end(library: ProcessPool | None) -> threading.Thread | None:
    """End a pool's process in a thread of its own: the library's threads may wait for a lock of ours."""

    def end() -> None:
        library.stop()
        library.join()

    if library is None:
        return None
    ending = threading.Thread(target=end, name="compute pool ends", daemon=True)
    ending.start()
    return ending


def _behind_the_server() -> None:
    """Let the server, which answers everybody, have the processor first, and take one core only.

    NumPy reads these variables once, when it is imported.
    """
    os.environ.update(_ONE_THREAD)
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    for name in _IMPORTED:
        import_module(name)


def nothing() -> None:
    """A call that only needs a process."""


def _run(function: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    """The result as bytes: so its size is known, and the library does not pickle it once more."""
    return pickle.dumps(function(*args), protocol=pickle.HIGHEST_PROTOCOL)


@dataclass(frozen=True)
class Call:
    function: Callable[..., Any]
    args: tuple[Hashable, ...] = ()

    @property
    def key(self) -> Hashable:
        """What tells this call from others: 1 is not 1.0 here."""
        return typedkey(self.function, *self.args)

    @property
    def bytes(self) -> int:
        """Bytes of large arguments, which are kept as long as the answer: those that have an `nbytes`."""
        return sum(getattr(arg, "nbytes", 0) for arg in self.args)


@dataclass(frozen=True)
class Answer:
    value: Any = None
    failure: str | None = None
    fault: BaseException | None = None


@dataclass(frozen=True)
class _Kept:
    answer: Answer
    bytes: int
    until: float = float("inf")


@dataclass(eq=False)
class _Asked:
    """A call that waits or runs, and who wants its answer."""

    call: Call
    number: int
    wanted_by: set[str] = field(default_factory=set)
    future: Future[bytes] | None = None
    takes: int = 0


class Pool:
    """A fixed number of processes, and the calls that wait for one of them.

    Each asker has turns: the call of the one that was served longest ago is next. It is thread-safe.
    """

    def __init__(self, processes: int, *, bytes_kept: int = BYTES_KEPT, longest_s: float = LONGEST_S) -> None:
        self.processes = processes
        self._longest_s = longest_s
        self._changed = threading.Condition()
        self._kept: LRUCache[Hashable, _Kept] = LRUCache(bytes_kept, getsizeof=lambda kept: kept.bytes)
        self._asked: dict[Hashable, _Asked] = {}
        self._wants: dict[str, set[Hashable]] = {}
        self._served: dict[str, int] = {}
        self._numbers = count(1)
        self._seats = [Seat() for _ in range(processes)]
        self._is_closed = False

    def ask(self, asker: str, calls: Sequence[Call]) -> list[Answer | None]:
        """The answers that there are; what is missing is computed.

        What this asker wanted before and no longer wants leaves the line, if no process has begun it.
        """
        with self._changed:
            answers = [self._answer(call) for call in calls]
            missing = {call.key: call for call, answer in zip(calls, answers, strict=True) if answer is None}
            self._withdraw(asker, keep=missing)
            for key, call in missing.items():
                asked = self._asked.setdefault(key, _Asked(call, next(self._numbers)))
                asked.wanted_by.add(asker)
            if missing:
                self._wants[asker] = set(missing)
                self._start_next()
            return answers

    def start(self) -> None:
        """Start the processes before the first call."""
        with self._changed:
            for seat in self._seats:
                seat.schedule(nothing, (), self._longest_s)

    def wait(self, asker: str, seconds: float) -> bool:
        """Wait until nothing that this asker wants is missing; False where the time is over before that."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._wants.get(asker), seconds)

    def forget(self, calls: Sequence[Call]) -> None:
        """Drop the answers to these calls: the next one who asks has them computed again."""
        with self._changed:
            for call in calls:
                self._kept.pop(call.key, None)

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            endings = [seat.leave() for seat in self._seats]
        for ending in filter(None, endings):
            ending.join()

    @property
    def waiting(self) -> int:
        return len(self._asked)

    def _answer(self, call: Call) -> Answer | None:
        kept = self._kept.get(call.key)
        if kept is not None and kept.until < time.monotonic():
            del self._kept[call.key]
            return None
        return kept.answer if kept else None

    def _withdraw(self, asker: str, keep: object) -> None:
        for key in self._wants.pop(asker, set()):
            asked = self._asked.get(key)
            if asked is None or key in keep:
                continue
            asked.wanted_by.discard(asker)
            if not asked.wanted_by and asked.future is None:
                del self._asked[key]

    def _start_next(self) -> None:
        while not self._is_closed:
            line = [asked for asked in self._asked.values() if asked.future is None]
            seat = next((seat for seat in self._seats if not seat.is_busy), None)
            if not line or seat is None:
                return
            asked = min(line, key=self._turn)
            asked.takes += 1
            for asker in asked.wanted_by:
                self._served[asker] = next(self._numbers)
            seat.is_busy = True
            future = asked.future = seat.schedule(asked.call.function, asked.call.args, self._longest_s)
            future.add_done_callback(lambda done, asked=asked, seat=seat: self._came(asked, seat, done))

    def _turn(self, asked: _Asked) -> tuple[int, int]:
        """The place in the line: by the time since the asker was served, then by the order of asking."""
        return min((self._served.get(asker, 0) for asker in asked.wanted_by), default=0), asked.number

    def _came(self, asked: _Asked, seat: Seat, future: Future[bytes]) -> None:
        kept = self._read(asked, future)
        with self._changed:
            seat.is_busy = False
            if is_lost(future):
                seat.leave()
            if kept is None:
                asked.future = None
                if not asked.wanted_by:
                    self._asked.pop(asked.call.key, None)
            else:
                self._asked.pop(asked.call.key, None)
                self._kept[asked.call.key] = kept
                for asker in asked.wanted_by:
                    self._wants.get(asker, set()).discard(asked.call.key)
            self._served = {asker: turn for asker, turn in self._served.items() if self._wants.get(asker)}
            self._wants = {asker: wants for asker, wants in self._wants.items() if wants}
            self._start_next()
            self._changed.notify_all()

    def _read(self, asked: _Asked, future: Future[bytes]) -> _Kept | None:
        if is_lost(future) and asked.takes < _TAKES:
            return None
        if is_lost(future):
            message = "The process that computed this was ended twice, perhaps for lack of memory."
            return _briefly(Answer(failure=message))
        match future.exception():
            case None:
                data = future.result()
                size = len(data) + asked.call.bytes
                if size <= self._kept.maxsize:
                    return _Kept(Answer(pickle.loads(data)), size)
                message = f"The result has {size:,} bytes, and {self._kept.maxsize:,} are kept at most."
            case ValueError() as error:
                return _Kept(Answer(failure=str(error)), len(str(error)))
            case TimeoutError():
                message = f"This takes longer than {self._longest_s:g} s, the most that one part may take."
            case MemoryError():
                message = "This needs more memory than the server has left."
            case fault:
                return _briefly(Answer(fault=fault))
        return _briefly(Answer(failure=message))


def _briefly(answer: Answer) -> _Kept:
    """An answer that another try may change: it is kept for those who wait for it."""
    return _Kept(answer, 1, until=time.monotonic() + FAILURES_KEPT_S)


@cache
def pool() -> Pool:
    """The one pool of this server, which a visitor cannot clear. Its processes start with the first call."""
    made = Pool(min(MOST_PROCESSES, cores()))
    atexit.register(made.close)
    return made
