"""The code that helpers compile ahead: what jobs wait for, parts of training runs, what the pages offer."""

from collections.abc import Iterable

from kernels.bench.job import GemmJob
from kernels.bench.ready.job import ReadyJob
from kernels.bench.ready.job import code_of as gemm_code
from kernels.train.job import TrainJob
from kernels.train.ready.job import IMPORTS, TrainReadyJob, parts_of
from kernels.worker.jobs import Job

Code = GemmJob | TrainReadyJob
_KNOWN = 4096


def code_of(job: object) -> Code | None:
    """The code that a job is, or that it waits for; None for one that each process does for itself."""
    if isinstance(job, TrainReadyJob):
        return None if job.layer == IMPORTS else job
    return gemm_code(job)


def codes_beside(job: object) -> tuple[Code, ...]:
    """The code that helpers compile beside a job, which does not wait for it."""
    return parts_of(job) if isinstance(job, TrainJob) else ()


def task(code: Code) -> Job:
    """What a helper is given to do."""
    return ReadyJob(code, is_code_only=True) if isinstance(code, GemmJob) else code


class Ahead:
    """Code that is compiled, and code that helpers have in hand.

    `offered` is compiled while all is quiet, in its order. Nothing here is thread-safe: the ledger's lock is
    held.
    """

    def __init__(self, offered: Iterable[Job] = ()) -> None:
        codes = (code_of(job) for job in offered)
        self._offered = dict.fromkeys(code for code in codes if code is not None)
        self.helpers = 0
        self._compiled: set[Code] = set()
        self._in_hand: set[Code] = set()

    @property
    def has_offered(self) -> bool:
        """True while something is left of what the pages offer."""
        return bool(self._offered)

    def is_compiled(self, code: Code) -> bool:
        return code in self._compiled

    def is_left_to_helpers(self, code: Code | None) -> bool:
        """True until a helper has compiled what is offered: a worker that did it would let others wait."""
        is_open = code in self._in_hand or (code in self._offered and code not in self._compiled)
        return is_open and self.helpers > 0

    def take(self, codes: Iterable[Code]) -> Code | None:
        """The first of some codes that nobody has compiled or has in hand; a helper has it from now on."""
        code = next((one for one in codes if one not in self._compiled and one not in self._in_hand), None)
        if code is not None:
            self._in_hand.add(code)
        return code

    def take_offered(self, busy: Iterable[Code | None]) -> Code | None:
        """As `take`, of what is offered. Workers compile those in `busy` themselves."""
        busy = set(busy)
        self._offered = {one: None for one in self._offered if one not in self._compiled}
        return self.take(one for one in self._offered if one not in busy)

    def note(self, codes: Iterable[Code]) -> None:
        """Note that codes are compiled, or that compiling them was tried."""
        codes = tuple(codes)
        if len(self._compiled) >= _KNOWN:
            self._compiled.clear()
        self._compiled.update(codes)
        self._in_hand.difference_update(codes)
