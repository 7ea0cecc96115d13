"""One process of the pool, and what it does before and around a call."""

import os
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from loky.backend import get_context
from pebble import ProcessExpired, ProcessPool

LOST = (ProcessExpired, BrokenProcessPool, CancelledError)
"""What a future says whose process has ended."""
_NICENESS = 10
_IMPORTED = ("fp8core.accumulators", "fp8core.quantize", "fp8core.recipes")
"""Modules that most calls need: a fresh process has them before its first call."""
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
        """End the process."""
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
