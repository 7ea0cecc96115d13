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
from collections.abc import Callable, Collection, Hashable, Sequence
from concurrent.futures import CancelledError, Future, TimeoutError
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
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
_NICENESS = 10
# Modules that most calls need: a fresh process has them before its first call
_IMPORTED = ("fp8core.accumulators", "fp8core.quantize", "fp8core.recipes")
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Call:
    function: Callable[..., Any]
    args: tuple[Hashable, ...] = ()

    @property
    def key(self) -> Hashable:
        """The name of this call among others: 1 is not 1.0 here."""
        return typedkey(self.function, *self.args)

    @property
    def bytes(self) -> int:
        """Bytes of large arguments, which are kept as long as the answer: those that have an `nbytes`."""
        return sum(getattr(arg, "nbytes", 0) for arg in self.args)


@dataclass(frozen=True)
class Answer:
    """A value, or the sentence that says why there is none, or an error of the function."""

    value: Any = None
    failure: str | None = None
    fault: BaseException | None = None
    bytes: int = field(default=1, compare=False)
    until: float = field(default=float("inf"), compare=False)


def _process() -> ProcessPool:
    """A pool of the library with one process, a fresh Python.

    The processes of a larger pool share a lock: one that is killed while it holds the lock would keep all
    others waiting for a minute or more. A fork would copy the server's locks. Python's own fresh start runs
    the main script again, and Streamlit makes the app's script the main one: loky's does not.
    """
    return ProcessPool(1, initializer=_behind_the_server, context=get_context("loky"))


def _end(library: ProcessPool) -> threading.Thread:
    """End a process in a thread of its own: the library's threads may wait for a lock of ours."""

    def end() -> None:
        library.stop()
        library.join()

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


def _nothing() -> None:
    """A call that only needs a process."""


def _run(call: Call) -> bytes:
    """The result as bytes: so its size is known, and the library does not pickle it once more."""
    return pickle.dumps(call.function(*call.args), protocol=pickle.HIGHEST_PROTOCOL)


@dataclass(eq=False)
class _Asked:
    call: Call
    wanted_by: set[str] = field(default_factory=set)
    is_running: bool = False
    takes: int = 0


class Pool:
    """A fixed number of processes, and the calls that wait for one of them.

    Each asker has turns: the call of the one that was served longest ago is next. It is thread-safe.
    """

    def __init__(self, processes: int, *, bytes_kept: int = BYTES_KEPT, longest_s: float = LONGEST_S) -> None:
        self._longest_s = longest_s
        self._changed = threading.Condition()
        self._kept: LRUCache[Hashable, Answer] = LRUCache(bytes_kept, getsizeof=lambda kept: kept.bytes)
        self._asked: dict[Hashable, _Asked] = {}
        self._served: dict[str, float] = {}
        self._idle = [_process() for _ in range(processes)]
        self._busy: set[ProcessPool] = set()
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
                self._asked.setdefault(key, _Asked(call)).wanted_by.add(asker)
            self._start_next()
            return answers

    def start(self) -> None:
        with self._changed:
            for library in self._idle:
                library.schedule(_nothing)

    def wait(self, asker: str, seconds: float) -> bool:
        """Wait until nothing that this asker wants is missing; False where the time is over before that."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waits(asker), seconds)

    def forget(self, calls: Sequence[Call]) -> None:
        """Drop the answers to these calls: the next one who asks has them computed again."""
        with self._changed:
            for call in calls:
                self._kept.pop(call.key, None)

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            endings = [_end(library) for library in (*self._idle, *self._busy)]
        for ending in endings:
            ending.join()

    def _waits(self, asker: str) -> bool:
        return any(asker in asked.wanted_by for asked in self._asked.values())

    def _answer(self, call: Call) -> Answer | None:
        kept = self._kept.get(call.key)
        if kept is not None and kept.until < time.monotonic():
            del self._kept[call.key]
            return None
        return kept

    def _withdraw(self, asker: str, keep: Collection[Hashable]) -> None:
        for key, asked in list(self._asked.items()):
            if key not in keep:
                asked.wanted_by.discard(asker)
                if not asked.wanted_by and not asked.is_running:
                    del self._asked[key]

    def _start_next(self) -> None:
        while self._idle and not self._is_closed:
            line = [asked for asked in self._asked.values() if not asked.is_running]
            if not line:
                return
            asked = min(line, key=self._turn)
            for asker in asked.wanted_by:
                self._served[asker] = time.monotonic()
            library = self._idle.pop()
            if not library.active:
                # A process that is killed without work makes the library give its pool up.
                _end(library)
                library = _process()
            self._busy.add(library)
            asked.is_running, asked.takes = True, asked.takes + 1
            future = library.schedule(_run, args=(asked.call,), timeout=self._longest_s)
            future.add_done_callback(partial(self._came, asked, library))

    def _turn(self, asked: _Asked) -> float:
        """The time at which an asker was last served; of equals, the first one who asked is next."""
        return min((self._served.get(asker, 0.0) for asker in asked.wanted_by), default=0.0)

    def _came(self, asked: _Asked, library: ProcessPool, future: Future[bytes]) -> None:
        """Keep what a process gave; the library's thread calls this."""
        is_lost = future.cancelled() or isinstance(
            future.exception(), ProcessExpired | BrokenProcessPool | CancelledError
        )
        answer = self._read(asked.call, future, is_lost) if not is_lost or asked.takes == _TAKES else None
        with self._changed:
            self._busy.discard(library)
            if is_lost:
                _end(library)
                library = _process()
            self._idle.append(library)
            asked.is_running = False
            if answer is not None:
                self._kept[asked.call.key] = answer
            if answer is not None or not asked.wanted_by:
                del self._asked[asked.call.key]
            self._served = {asker: at for asker, at in self._served.items() if self._waits(asker)}
            self._start_next()
            self._changed.notify_all()

    def _read(self, call: Call, future: Future[bytes], is_lost: bool) -> Answer:
        if is_lost:
            return _failure("The process that computed this was ended twice, perhaps for lack of memory.")
        match future.exception():
            case None:
                data = future.result()
                size = len(data) + call.bytes
                if size <= self._kept.maxsize:
                    return Answer(pickle.loads(data), bytes=size)
                return _failure(
                    f"The result has {size:,} bytes, and {self._kept.maxsize:,} are kept at most."
                )
            case ValueError() as error:
                return Answer(failure=str(error), bytes=len(str(error)))
            case TimeoutError():
                most = f"{self._longest_s:g} s, the most that one part may take"
                return _failure(f"This takes longer than {most}.")
            case MemoryError():
                return _failure("This needs more memory than the server has left.")
            case fault:
                return Answer(fault=fault, until=_soon())


def _failure(message: str) -> Answer:
    """A failure that another try may change: it is kept for those who wait for it."""
    return Answer(failure=message, until=_soon())


def _soon() -> float:
    return time.monotonic() + FAILURES_KEPT_S


@cache
def pool() -> Pool:
    """The one pool of this server, which a visitor cannot clear. Its processes start with the first call."""
    made = Pool(min(MOST_PROCESSES, cores()))
    atexit.register(made.close)
    return made
