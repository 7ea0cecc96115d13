"""Processes beside the server for computations that would hold the interpreter too long.

All sessions share them, and the results. Nobody waits for a call:

    calls = [Call(errors_of, (name, seed)) for name in units]
    answers = pool().ask("session 7, curves", calls)      # an Answer for each call that is done, else None

The function's module imports no Streamlit, which would take the process half a second. Arguments can be
hashed and pickled, results pickled.
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

BYTES_LIMIT = 64 << 20  # pickled bytes of all results; the one read longest ago is dropped first
LONGEST_S = 60.0  # seconds that one call may take
# Seconds after which a call that a broken process ended is tried again where a page asks for it
FAILURES_S = 10.0
MOST_PROCESSES = 6
_TRIES = 2  # processes that may try one call
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
        """Key of this call: 1 is not 1.0 here."""
        return typedkey(self.function, *self.args)

    @property
    def bytes(self) -> int:
        """Bytes of arguments with an `nbytes`, which stay with the answer."""
        return sum(getattr(arg, "nbytes", 0) for arg in self.args)


@dataclass(frozen=True)
class Answer:
    """A value, a sentence that says why there is none, or an error of the function."""

    value: Any = None
    failure: str | None = None
    fault: BaseException | None = None
    bytes: int = field(default=1, compare=False)
    until: float = field(default=float("inf"), compare=False)


def _process() -> ProcessPool:
    """Start a fresh Python: a pool of the library with one process.

    Processes of a larger pool share a lock: one killed with it blocks the others for a minute or more. A fork
    would copy the server's locks. Python's own fresh start runs the app's script; loky's does not.
    """
    return ProcessPool(1, initializer=_behind_the_server, context=get_context("loky"))


def _end(library: ProcessPool) -> threading.Thread:
    """End a process in its own thread: the library's threads may wait for our lock."""

    def end() -> None:
        library.stop()
        library.join()

    ending = threading.Thread(target=end, name="compute pool ends", daemon=True)
    ending.start()
    return ending


def _behind_the_server() -> None:
    """Yield the processor to the server, and take one core. NumPy reads these variables at import."""
    os.environ.update(_ONE_THREAD)
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    for name in _IMPORTED:
        import_module(name)


def _nothing() -> None:
    """A call that only needs a process."""


def _run(call: Call) -> bytes:
    """Pickle the result: its size is known, and the library does not pickle it again."""
    return pickle.dumps(call.function(*call.args), protocol=pickle.HIGHEST_PROTOCOL)


@dataclass(eq=False)
class _Request:
    call: Call
    askers: set[str] = field(default_factory=set)
    is_running: bool = False
    tries: int = 0


class Pool:
    """A fixed number of processes, and the calls that wait for one. Thread-safe.

    Askers take turns: the one served longest ago is next.
    """

    def __init__(
        self, processes: int, *, bytes_limit: int = BYTES_LIMIT, longest_s: float = LONGEST_S
    ) -> None:
        self._longest_s = longest_s
        self._changed = threading.Condition()
        self._answers: LRUCache[Hashable, Answer] = LRUCache(
            bytes_limit, getsizeof=lambda answer: answer.bytes
        )
        self._requests: dict[Hashable, _Request] = {}
        self._last_served: dict[str, float] = {}
        self._idle = [_process() for _ in range(processes)]
        self._busy: set[ProcessPool] = set()
        self._is_closed = False

    def ask(self, asker: str, calls: Sequence[Call]) -> list[Answer | None]:
        """Return the known answers and compute the missing ones.

        This asker's other calls leave the queue, if no process has begun them.
        """
        with self._changed:
            answers = [self._answer(call) for call in calls]
            missing = {call.key: call for call, answer in zip(calls, answers, strict=True) if answer is None}
            self._withdraw(asker, keep=missing)
            for key, call in missing.items():
                self._requests.setdefault(key, _Request(call)).askers.add(asker)
            self._start_next()
            return answers

    def start(self) -> None:
        with self._changed:
            for library in self._idle:
                library.schedule(_nothing)

    def wait(self, asker: str, seconds: float) -> bool:
        """Wait until this asker has all answers; False on timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waits(asker), seconds)

    def forget(self, calls: Sequence[Call]) -> None:
        with self._changed:
            for call in calls:
                self._answers.pop(call.key, None)

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            endings = [_end(library) for library in (*self._idle, *self._busy)]
        for ending in endings:
            ending.join()

    def _waits(self, asker: str) -> bool:
        return any(asker in request.askers for request in self._requests.values())

    def _answer(self, call: Call) -> Answer | None:
        answer = self._answers.get(call.key)
        if answer is not None and answer.until < time.monotonic():
            del self._answers[call.key]
            return None
        return answer

    def _withdraw(self, asker: str, keep: Collection[Hashable]) -> None:
        for key, request in list(self._requests.items()):
            if key not in keep:
                request.askers.discard(asker)
                if not request.askers and not request.is_running:
                    del self._requests[key]

    def _start_next(self) -> None:
        while self._idle and not self._is_closed:
            line = [request for request in self._requests.values() if not request.is_running]
            if not line:
                return
            request = min(line, key=self._turn)
            for asker in request.askers:
                self._last_served[asker] = time.monotonic()
            library = self._idle.pop()
            if not library.active:
                # A process that is killed without work makes the library give its pool up.
                _end(library)
                library = _process()
            self._busy.add(library)
            request.is_running, request.tries = True, request.tries + 1
            future = library.schedule(_run, args=(request.call,), timeout=self._longest_s)
            future.add_done_callback(partial(self._came, request, library))

    def _turn(self, request: _Request) -> float:
        return min((self._last_served.get(asker, 0.0) for asker in request.askers), default=0.0)

    def _came(self, request: _Request, library: ProcessPool, future: Future[bytes]) -> None:
        """Keep a process's result, in the library's thread."""
        is_lost = future.cancelled() or isinstance(
            future.exception(), ProcessExpired | BrokenProcessPool | CancelledError
        )
        answer = self._read(request.call, future, is_lost) if not is_lost or request.tries == _TRIES else None
        with self._changed:
            self._busy.discard(library)
            if is_lost:
                _end(library)
                library = _process()
            self._idle.append(library)
            request.is_running = False
            if answer is not None:
                self._answers[request.call.key] = answer
            if answer is not None or not request.askers:
                del self._requests[request.call.key]
            self._last_served = {asker: at for asker, at in self._last_served.items() if self._waits(asker)}
            self._start_next()
            self._changed.notify_all()

    def _read(self, call: Call, future: Future[bytes], is_lost: bool) -> Answer:
        if is_lost:
            return _failure("The process that computed this was ended twice, perhaps for lack of memory.")
        match future.exception():
            case None:
                data = future.result()
                size = len(data) + call.bytes
                if size <= self._answers.maxsize:
                    return Answer(pickle.loads(data), bytes=size)
                return _failure(
                    f"The result has {size:,} bytes, and {self._answers.maxsize:,} are kept at most."
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
    """A failure that another try may change."""
    return Answer(failure=message, until=_soon())


def _soon() -> float:
    return time.monotonic() + FAILURES_S


@cache
def pool() -> Pool:
    """This server's pool, which no visitor can clear. Its processes start with the first call."""
    server_pool = Pool(min(MOST_PROCESSES, cores()))
    atexit.register(server_pool.close)
    return server_pool
