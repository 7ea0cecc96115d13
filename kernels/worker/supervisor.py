"""One worker process and the thread that feeds it: starts it, watches the clock, replaces it when it ends."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

from kernels.worker.line import STOPPED, Line, Run
from kernels.worker.messages import Do, Finished, Halted, Progress, Ready, Refused, Stop
from kernels.worker.process import Ended, Garbled, WorkerProcess
from kernels.worker.states import Done, Failed, Final

_log = logging.getLogger(__name__)
_CURE = "make the shape smaller, or the runs fewer."

Launch = Callable[[], WorkerProcess]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Seconds. After n failures in a row a worker rests min(rest_s · 2**(n - 1), longest_rest_s)."""

    start_s: float = 180.0
    job_s: float = 300.0
    stop_s: float = 5.0
    rest_s: float = 0.5
    longest_rest_s: float = 30.0
    tick_s: float = 0.1


class Supervisor(threading.Thread):
    """Takes runs from the line, one after the other, until the line is closed."""

    def __init__(self, line: Line, launch: Launch, limits: Limits) -> None:
        super().__init__(name="gemm-worker", daemon=True)
        self._line = line
        self._launch = launch
        self._limits = limits
        self._process: WorkerProcess | None = None
        self._is_ready = False
        self._device: str | None = None
        self._failures = 0

    @property
    def device(self) -> str | None:
        """What the worker said it runs on; None before it has loaded for the first time."""
        return self._device

    def run(self) -> None:
        """The thread's work."""
        not_before = self._line.clock()
        while (run := self._line.take(not_before=not_before)) is not None:
            self._line.finish(run, self._serve(run))
            not_before = self._line.clock() + self._rest_s()
        if self._process is not None:
            self._process.close(self._limits.stop_s)

    def _rest_s(self) -> float:
        if not self._failures:
            return 0.0
        return min(self._limits.rest_s * 2 ** min(self._failures - 1, 30), self._limits.longest_rest_s)

    def _serve(self, run: Run) -> Final:
        """Run one job to its end, whatever that is."""
        if self._process is not None and not self._process.is_alive:
            self._end_process()
        if self._process is None:
            try:
                self._process = self._launch()
            except OSError as error:
                self._failures += 1
                return Failed(f"The worker could not be started: {error}.")
            self._is_ready = False
        result = self._await_ready(run) if not self._is_ready else None
        return result if result is not None else self._await_result(run)

    def _await_ready(self, run: Run) -> Final | None:
        """Wait until the worker has loaded; the run's end if it does not, None if it has."""
        process = self._alive
        deadline = run.since + self._limits.start_s
        while self._line.is_wanted(run):
            match process.receive(self._limits.tick_s):
                case Ready(device):
                    self._device, self._is_ready = device, True
                    return None
                case Ended(how):
                    return self._failed(f"The worker {how}, before it could start the job.")
                case Garbled(text):
                    return self._failed(f"The worker said what is no message while it loaded: {text!r}.")
            if self._line.clock() > deadline:
                return self._failed(f"The worker did not load within {self._limits.start_s:g} s.")
        return STOPPED

    def _await_result(self, run: Run) -> Final:
        process, clock, limits = self._alive, self._line.clock, self._limits
        self._line.report(run, 0.0, "starting")
        process.send(Do(run.number, run.job))
        began = clock()
        stop_sent: float | None = None
        while True:
            match process.receive(limits.tick_s):
                case Finished(number, row) if number == run.number:
                    self._failures = 0
                    return Done(row)
                case Refused(number, reason) if number == run.number:
                    self._failures = 0
                    return Failed(reason)
                case Halted(number) if number == run.number:
                    return STOPPED
                case Progress(number, fraction, note, partial) if number == run.number:
                    self._line.report(run, fraction, note, partial)
                case Ended(how):
                    return self._failed(f"The worker {how}. A fresh one does the next job.")
                case Garbled(text):
                    return self._failed(f"The worker said what is no message: {text!r}.")
            if clock() - began > limits.job_s:
                return self._failed(f"Ended after {limits.job_s:g} s, the most a job may take: {_CURE}")
            if stop_sent is None and not self._line.is_wanted(run):
                process.send(Stop(run.number))
                stop_sent = clock()
            grace_s = 0.0 if self._line.is_closed else limits.stop_s
            if stop_sent is not None and clock() - stop_sent > grace_s:
                self._end_process()
                return STOPPED

    @property
    def _alive(self) -> WorkerProcess:
        assert self._process is not None, "a job is served by a worker that was launched"
        return self._process

    def _failed(self, reason: str) -> Failed:
        """Note a failure of the worker itself, and get rid of it."""
        _log.warning("%s stderr: %s", reason, self._alive.stderr_tail)
        self._failures += 1
        self._end_process()
        return Failed(reason)

    def _end_process(self) -> None:
        self._alive.kill()
        self._process = None
