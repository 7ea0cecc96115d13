"""Helper processes that do tasks one by one, and that can be ended at once, whatever they do.

A thread here hands each process its next task. A task that ends its process costs the others nothing. A
process whose parent is gone ends after the task at hand. They yield the cores to all else.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

_NICE = 10
_LOOK_S = 0.1
_STDOUT, _STDERR = 1, 2


class Helpers:
    """At most `count` processes that call `work` on each of some tasks, in order. What it raises ends its
    process.

    `left` is the number of tasks that are not finished. Raises OSError where a process cannot be started.
    """

    def __init__(self, work: Callable[[Any], object], tasks: Iterable[Any], count: int) -> None:
        waiting = list(tasks)
        self.left = len(waiting)
        self._lock = threading.Lock()
        self._processes: list[BaseProcess] = []
        self._threads: list[threading.Thread] = []
        given = iter(waiting)
        try:
            for _ in range(min(count, len(waiting))):
                self._start(work, given)
        except OSError:
            self.stop()
            raise

    def wait(self, patience_s: float, tell: Callable[[int], None]) -> None:
        """Return once all tasks are finished, or none was for so long; tell(how many are left) as they are.

        Tasks whose process ended are not waited for.
        """
        left, since = self.left, time.monotonic()
        while any(thread.is_alive() for thread in self._threads):
            time.sleep(_LOOK_S)
            if self.left != left:
                left, since = self.left, time.monotonic()
                tell(left)
            elif time.monotonic() - since > patience_s:
                return

    def stop(self) -> None:
        """End all processes, and what they have started, and return when they have ended."""
        for process in self._processes:
            if process.pid is not None and process.exitcode is None:
                with suppress(ProcessLookupError):  # it makes its group as soon as it runs
                    os.killpg(process.pid, signal.SIGKILL)
                process.kill()
        for each in (*self._processes, *self._threads):
            each.join()

    def _start(self, work: Callable[[Any], object], given: Iterator[Any]) -> None:
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_do, args=(work, theirs), daemon=True, name="check-helper")
        # A new process inherits the mask: Ctrl-C is for this one to hear.
        masked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, masked)
            theirs.close()
        self._processes.append(process)
        thread = threading.Thread(target=self._hand_out, args=(ours, given), daemon=True, name="check-helper")
        self._threads.append(thread)
        thread.start()

    def _hand_out(self, pipe: Connection, given: Iterator[Any]) -> None:
        """Give a process one task after another, until there are none or it has ended."""
        with pipe, suppress(EOFError, OSError):
            while True:
                with self._lock:
                    task = next(given, None)
                if task is None:
                    return
                pipe.send(task)
                pipe.recv()
                with self._lock:
                    self.left -= 1


def _do(work: Callable[[Any], object], pipe: Connection) -> None:
    """Do the tasks that come, and print nothing. The process is a group, with all that it starts."""
    os.setpgid(0, 0)
    os.nice(_NICE)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (_STDOUT, _STDERR):
        os.dup2(nowhere, stream)
    with suppress(EOFError, OSError):
        while True:
            work(pipe.recv())
            pipe.send(None)
    os._exit(0)
