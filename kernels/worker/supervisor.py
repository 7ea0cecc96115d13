"""One worker process and the thread that feeds it: it starts the worker, watches the clock, replaces it."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kernels.worker.jobs import Job
from kernels.worker.ledger import STOPPED, Ledger
from kernels.worker.line import Run
from kernels.worker.messages import Began, Do, Finished, Halted, Message, Progress, Ready, Refused, Stop
from kernels.worker.process import Ended, Frozen, Garbled, HostGone, Vanished, WorkerProcess
from kernels.worker.states import Done, Failed, Final

_log = logging.getLogger(__name__)
_CURE = "make the shape smaller, or the runs fewer."
_FRESH = "The next job gets a fresh worker."
_CHECK = "In a terminal, python -m kernels.check says what is broken here."
_TAKES = 2
"""Workers that may try to begin one job."""
_HOSTS = 2
"""Hosts that may vanish in the middle of one job: the job goes back to the queue before the last one."""

Launch = Callable[[], WorkerProcess]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Time limits in seconds: to load, to begin a job after it was sent, for a job, to end one on request.

    After n failures in a row a worker rests min(rest_s · 2**(n - 1), longest_rest_s).
    """

    start_s: float = 180.0
    begin_s: float = 5.0
    job_s: float = 300.0
    stop_s: float = 5.0
    rest_s: float = 0.5
    longest_rest_s: float = 30.0
    tick_s: float = 0.1


class Supervisor(threading.Thread):
    """Takes runs from the queue, one after the other, until the queue is closed."""

    def __init__(self, ledger: Ledger, launch: Launch, limits: Limits, spare: Iterable[Job] = ()) -> None:
        super().__init__(name="gemm-worker", daemon=True)
        self._ledger = ledger
        self._launch = launch
        self._limits = limits
        self._spare = deque(spare)
        self._process: WorkerProcess | None = None
        self._is_ready = False
        self._device: str | None = None
        self._failures = 0
        self._last_end = ""
        self._is_retired = False

    @property
    def is_retired(self) -> bool:
        """True once the worker's host is gone: this thread takes no more jobs."""
        return self._is_retired

    @property
    def device(self) -> str | None:
        """The device that the worker named; None before it has loaded for the first time."""
        return self._device

    def run(self) -> None:
        """Serve runs: the body of the thread."""
        not_before = self._ledger.clock()
        self._ledger.come(workers=1)
        while (
            not self._is_retired
            and (run := self._ledger.take(not_before=not_before, spare=self._next_spare)) is not None
        ):
            try:
                end = self._serve(run)
            except _GaveWay:
                self._ledger.give_way(run)
            else:
                if end is None:
                    self._ledger.put_back(run)
                else:
                    self._ledger.finish(run, end)
                if run.is_spare:
                    self._spare.remove(run.job)
                if self._failures:
                    self._spare.clear()  # not worth another worker
            not_before = self._ledger.clock() + self._rest_s()
        self._ledger.come(workers=-1)
        if self._process is not None:
            self._process.close(self._limits.stop_s)

    def _next_spare(self) -> Job | None:
        return next((job for job in self._spare if not self._ledger.is_left_to_helpers(job)), None)

    def _rest_s(self) -> float:
        if not self._failures:
            return 0.0
        return min(self._limits.rest_s * 2 ** min(self._failures - 1, 30), self._limits.longest_rest_s)

    def _serve(self, run: Run) -> Final | None:
        """Run one job to its end; None where it never began and goes back to the queue.

        Raises _GaveWay where it stopped for others.
        """
        has_begun = False
        try:
            end = self._load(run)
            if end is not None:
                return end
            self._begin(run)
            has_begun = True
            return self._await_result(run)
        except _HostGone as gone:
            return self._retire(run, str(gone), has_begun=has_begun)
        except _Lost as lost:
            how = str(lost)
            return self._broken_off(how) if has_begun else self._not_begun(run, how)

    def _load(self, run: Run) -> Final | None:
        """Make sure that a worker has loaded. Returns the run's end where it is over before that,
        else None.
        """
        if self._process is not None and (not self._process.is_alive or self._process.is_frozen):
            self._end_process()
        if self._process is None:
            try:
                self._process = self._launch()
            except HostGone as error:
                run.takes -= 1  # It cost this run nothing to find out.
                raise _HostGone(str(error)) from error
            except OSError as error:
                raise _Lost(f"could not be started: {error}") from error
            self._is_ready = False
        deadline = run.since + self._limits.start_s
        while not self._is_ready:
            if not self._ledger.is_wanted(run):
                return STOPPED
            if run.is_spare and self._ledger.must_give_way(run):
                raise _GaveWay
            match self._hear():
                case Ready(device):
                    self._device, self._is_ready = device, True
                case None if self._ledger.clock() > deadline:
                    return self._failed(f"The worker did not load within {self._limits.start_s:g} s.")
                case None:
                    pass
                case said:
                    raise _out_of_turn(said)
        return None

    def _begin(self, run: Run) -> None:
        """Hand the job over and wait until the worker confirms it."""
        self._alive.send(Do(run.number, run.job, run.so_far, self._ledger.coming()))
        deadline = self._ledger.clock() + self._limits.begin_s
        while True:
            match self._hear():
                case Began(number) if number == run.number:
                    self._ledger.report(run, 0.0, "starting")
                    return
                case None if self._ledger.clock() > deadline:
                    raise _Lost(f"did not answer within {self._limits.begin_s:g} s")
                case None:
                    pass
                case said:
                    raise _out_of_turn(said)

    def _await_result(self, run: Run) -> Final:
        clock, limits = self._ledger.clock, self._limits
        began = clock()
        is_told, unwanted_since = False, None
        while True:
            match self._hear():
                case Finished(number, row) if number == run.number and row.job == run.job:
                    return self._well(Done(row))
                case Refused(number, reason) if number == run.number:
                    return self._well(Failed(reason))
                case Halted(number) if number == run.number:
                    if self._ledger.is_wanted(run):
                        self._well(STOPPED)
                        raise _GaveWay
                    return STOPPED
                case Progress(number, fraction, note, partial) if number == run.number:
                    self._ledger.report(run, fraction, note, partial)
                case None:
                    pass
                case said:
                    raise _out_of_turn(said)
            if clock() - began > limits.job_s:
                return self._failed(f"Ended after {limits.job_s:g} s, the most a job may take: {_CURE}")
            is_wanted = self._ledger.is_wanted(run)
            if not is_told and (not is_wanted or self._ledger.must_give_way(run)):
                self._alive.send(Stop(run.number))
                is_told = True
            if unwanted_since is None and not is_wanted:
                unwanted_since = clock()
            grace_s = 0.0 if self._ledger.is_closed else limits.stop_s
            if unwanted_since is not None and clock() - unwanted_since > grace_s:
                self._end_process()
                return STOPPED

    def _hear(self) -> Message | None:
        """The worker's next message; None where it is silent for a while. Raises _Lost when it has ended."""
        match self._alive.receive(self._limits.tick_s):
            case Ended(how):
                raise _Lost(how)
            case Vanished(how):
                raise _HostGone(how)
            case Garbled(text, why):
                _log.warning("No message: %s", why)
                raise _Lost(f"said what is no message: {text!r}")
            case Frozen():
                raise _Lost("was frozen by a signal such as SIGSTOP")
            case said:
                return said

    @property
    def _alive(self) -> WorkerProcess:
        assert self._process is not None, "a job is served by a worker that was launched"
        return self._process

    def _well(self, end: Final) -> Final:
        """Note that the worker did its work, whatever the result."""
        self._failures, self._last_end = 0, ""
        return end

    def _not_begun(self, run: Run, how: str) -> Failed | None:
        """Drop a worker that was lost before it began the run. Returns None where another one may try."""
        if run.takes - run.vanished < _TAKES:
            self._failed(f"The worker {how}, and the job goes back to the queue.")
            return None
        return self._failed(f"Two workers in a row could not begin this job. The last one {how}. {_CHECK}")

    def _retire(self, run: Run, how: str, *, has_begun: bool) -> Failed | None:
        """Take no more runs: the host is gone. That is no fault of the job, so another host may try it."""
        self._is_retired = True
        if not has_begun:
            return self._not_begun(run, how)
        run.vanished += 1
        if run.vanished < _HOSTS:
            run.takes = run.vanished  # It comes first, and two workers may try to begin it.
            run.so_far = None  # The rest would be another GPU's.
            self._failed(f"The worker {how}, and the job goes back to the queue.")
            return None
        return self._failed(f"Two hosts were lost in the middle of this job. The last worker {how}.")

    def _broken_off(self, how: str) -> Failed:
        """Drop a worker that was lost in the middle of a run. Where all end in one way, the job is not to
        blame.
        """
        is_known, self._last_end = how == self._last_end, how
        again = f"So did the worker of the job before. {_CHECK}" if is_known else _FRESH
        return self._failed(f"The worker {how}. {again}")

    def _failed(self, reason: str) -> Failed:
        """Note a failure of the worker itself, and end its process."""
        told = self._process.stderr_tail if self._process is not None else ""
        _log.warning("%s stderr: %s", reason, told)
        self._failures += 1
        self._end_process()
        return Failed(reason)

    def _end_process(self) -> None:
        if self._process is not None:
            self._process.kill()
        self._process = None


class _GaveWay(Exception):
    """Raised when a run stopped for others and goes back to the line."""


class _Lost(Exception):
    """Raised when the worker is of no more use; the text ends the sentence "the worker …"."""


class _HostGone(_Lost):
    """Raised when the worker's host is gone as well."""


def _out_of_turn(said: Message) -> _Lost:
    return _Lost(f"said {type(said).__name__.lower()!r} out of turn")
