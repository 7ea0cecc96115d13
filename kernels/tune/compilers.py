"""Worker processes that compile kernels side by side, and run each once.

Compiling is the CPU's work. Triton keeps the code on disk (TRITON_CACHE_DIR) for all later processes. A task
that ends its process, or that does not end, costs nobody else anything: its process is replaced.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, as_completed
from multiprocessing import get_context
from types import TracebackType
from typing import Any

from pebble import ProcessExpired, ProcessPool

LONGEST_S = 300.0
"""Seconds after which a task counts as one that does not end. To compile all that a GEMM runs takes a minute
or two where many others are compiled beside it.
"""


class Compilers:
    """Run `launch(*task)` in many processes. It returns why a task cannot run, or an empty text."""

    def __init__(self, launch: Callable[..., str], workers: int, longest_s: float = LONGEST_S) -> None:
        self._launch, self._longest_s = launch, longest_s
        self._pool = ProcessPool(workers, context=get_context("spawn"))

    def __enter__(self) -> "Compilers":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.stop()
        self._pool.join()

    def submit(self, *task: Any) -> "Future[str]":
        """Have a task run as soon as a process is free. Ask for its fault by `fault`."""
        return self._pool.schedule(self._launch, args=task, timeout=self._longest_s)

    def faults(self, tasks: Sequence[Sequence[Any]], tell: Callable[[int], None]) -> list[str]:
        """For each task the reason why it cannot run, empty where it can; tell(how many are done) as they
        come.
        """
        futures = [self.submit(*task) for task in tasks]
        for done, _ in enumerate(as_completed(futures), 1):
            tell(done)
        return [self.fault(future) for future in futures]

    def fault(self, future: "Future[str]") -> str:
        """Why a submitted task cannot run, once it has ended; an empty text where it can."""
        try:
            return future.result()
        except ProcessExpired:
            return "the process that compiled it ended"
        except TimeoutError:
            return f"it did not end within {self._longest_s:.0f} s: its kernel may wait for ever"
