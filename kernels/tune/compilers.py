"""Worker processes that compile kernels side by side.

Compiling is the CPU's work. Triton keeps the code on disk (TRITON_CACHE_DIR) for all later processes.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from types import TracebackType

from kernels.bench.job import GemmJob
from kernels.gemm.blocks import Blocks

Task = tuple[GemmJob, Blocks | None]
Launch = Callable[[GemmJob, Blocks | None], str]


class Compilers:
    """Run `launch(job, blocks)` in many processes. It returns why a task cannot run, or an empty text."""

    def __init__(self, launch: Launch, workers: int) -> None:
        self._launch, self._workers = launch, workers
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> "Compilers":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def faults(self, tasks: Sequence[Task], tell: Callable[[int], None]) -> list[str]:
        """For each task the reason why it cannot run, empty where it can; tell(how many are done) as they
        come.

        A task that ends its process also ends the tasks beside it. Each of these is tried again by itself.
        """
        found: dict[int, str] = {}
        futures = {self._submit(task): number for number, task in enumerate(tasks)}
        for future in as_completed(futures):
            found[futures[future]] = _answer(future)
            tell(len(found))
        broken = [number for number, fault in found.items() if fault == _ENDED]
        for number in broken:
            self._close()
            found[number] = _answer(self._submit(tasks[number]))
        if broken:
            self._close()
        return [found[number] for number in range(len(tasks))]

    def _submit(self, task: Task) -> Future[str]:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self._workers, mp_context=get_context("spawn"))
        try:
            return self._pool.submit(self._launch, *task)
        except BrokenProcessPool as error:
            broken: Future[str] = Future()
            broken.set_exception(error)
            return broken

    def _close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


_ENDED = "the process that compiled it ended"


def _answer(future: Future[str]) -> str:
    try:
        return future.result()
    except BrokenProcessPool:
        return _ENDED
