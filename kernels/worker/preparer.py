"""A helper process that compiles what waiting jobs need, while the workers answer others.

Compiling is the CPU's work, and Triton keeps the code on disk for all processes. A helper is a worker like
others, which only gets jobs that make code ready. Where it is lost, the workers compile for themselves.
"""

import threading
from collections.abc import Callable

from kernels.worker.ahead import task
from kernels.worker.ledger import Ledger
from kernels.worker.messages import Do, Finished, Ready, Refused
from kernels.worker.process import Ended, Frozen, Garbled, Heard, Vanished, WorkerProcess

COMPILE_S = 120.0
"""The most that a helper may take for one job."""
_START_S = 180.0
_TICK_S = 0.2
_GONE = (Ended, Frozen, Garbled, Vanished)


class Preparer(threading.Thread):
    """Compiles for jobs in the line, one by one, until the ledger is closed or the process is lost."""

    def __init__(self, ledger: Ledger, launch: Callable[[], WorkerProcess]) -> None:
        super().__init__(name="gemm-helper", daemon=True)
        self._ledger = ledger
        self._launch = launch
        ledger.come(helpers=1)

    def run(self) -> None:
        """Prepare jobs: the body of the thread."""
        try:
            self._serve()
        finally:
            self._ledger.come(helpers=-1)

    def _serve(self) -> None:
        try:
            process = self._launch()
        except OSError:
            return
        try:
            if self._awaits(process, _START_S, lambda heard: isinstance(heard, Ready)):
                self._prepare(process)
        finally:
            process.kill()

    def _prepare(self, process: WorkerProcess) -> None:
        is_well, number = True, 0
        while is_well and (job := self._ledger.next_to_prepare()) is not None:
            number += 1
            process.send(Do(number, task(job)))
            is_well = self._awaits(process, COMPILE_S, lambda heard: isinstance(heard, Finished | Refused))
            self._ledger.prepared(job)

    def _awaits(self, process: WorkerProcess, limit_s: float, is_it: Callable[[Heard], bool]) -> bool:
        """True once the process has said it; False where it is lost, or takes too long."""
        deadline = self._ledger.clock() + limit_s
        while self._ledger.clock() < deadline and not self._ledger.is_closed:
            heard = process.receive(_TICK_S)
            if isinstance(heard, _GONE):
                return False
            if heard is not None and is_it(heard):
                return True
        return False
