"""The parent's side of a worker: its process, and the thread that feeds and replaces it.

A job that a worker never began goes to the next worker. A begun job ends with its worker, in a sentence.
"""

import logging
import os
import re
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from io import BufferedReader
from itertools import takewhile
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from kernels.nvml import Driver, driver
from kernels.paths import TOP
from kernels.worker.jobs import Done, Failed, Final, Stopped
from kernels.worker.messages import (
    Began,
    Do,
    Finished,
    Halted,
    Message,
    Progress,
    Ready,
    Refused,
    Stop,
    WarmUp,
    decode,
    encode,
)

if TYPE_CHECKING:
    from kernels.worker.queue import Run, WorkerQueue

_log = logging.getLogger(__name__)
_COMMAND = (sys.executable, "-m", "kernels.worker")

STOPPED = Stopped("Stopped on request.")
_CURE = "make the shape smaller, or the runs fewer."
_FRESH = "The next job gets a fresh worker."
_CHECK = "In a terminal, python -m kernels.check says what is broken here."
_FROZEN = "was frozen by a signal such as SIGSTOP"
_TAKES = 2
"""Workers that may be lost with one job, before they begin it or with their host."""

_LONGEST_MESSAGE = 16 << 20
_LONGEST_STDERR_LINE = 4096
_STDERR_LINES_KEPT = 60
_LAST_WORDS_S = 0.5
_CHARACTERS_SHOWN = 300
_ERROR_LINE = re.compile(r"[\w.]*(Error|Exception)\b.*")


class Lost(Exception):
    """The end of a worker; the text ends the sentence "the worker …". `with_host`: its host is gone, too."""

    def __init__(self, how: str, *, with_host: bool = False) -> None:
        super().__init__(how)
        self.with_host = with_host


class WorkerProcess:
    def __init__(self, command: Sequence[str], *, env: Mapping[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        )
        self._inbox: SimpleQueue[Message | Lost] = SimpleQueue()
        self._stderr: deque[str] = deque(maxlen=_STDERR_LINES_KEPT)
        self._stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        self._errors = threading.Thread(target=self._read_stderr, args=(stderr,), daemon=True)
        self._errors.start()
        self._reader = threading.Thread(target=self._read_stdout, args=(stdout,), daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def is_frozen(self) -> bool:
        """True if a signal such as SIGSTOP holds it; False on a system without waitid."""
        if not hasattr(os, "waitid"):
            return False
        try:
            # WNOWAIT consumes nothing: Popen must still see the process end.
            return os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return False

    @property
    def stderr_tail(self) -> str:
        return "\n".join(self._stderr)

    def send(self, message: Message) -> None:
        """Send a message. A worker's end shows later, in `receive`."""
        with suppress(BrokenPipeError):
            self._stdin.write(encode(message).encode())
            self._stdin.flush()

    def receive(self, timeout_s: float) -> Message | None:
        """The next message; None if none came in time. Raises Lost for a worker of no more use."""
        try:
            message = self._inbox.get(timeout=timeout_s)
        except Empty:
            if not self.is_alive and self._reader.is_alive():
                self._kill_group()
            if not self.is_frozen:
                return None
            try:  # what it said before: the reader may be a moment behind
                message = self._inbox.get(timeout=_LAST_WORDS_S)
            except Empty:
                raise Lost(_FROZEN) from None
        if isinstance(message, Lost):
            raise message
        return message

    def kill(self) -> None:
        self._kill_group()
        self._process.wait()
        with suppress(BrokenPipeError):
            self._stdin.close()

    def close(self, grace_s: float) -> None:
        with suppress(BrokenPipeError):
            self._stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(grace_s)
        self.kill()

    def _kill_group(self) -> None:
        """Kill it with the processes that it started, which may hold its pipes open."""
        if sys.platform == "win32":
            self._process.kill()
            return
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _read_stdout(self, stream: BufferedReader) -> None:
        with stream:
            for line in iter(partial(stream.readline, _LONGEST_MESSAGE), b""):
                if not line.endswith(b"\n") and len(line) < _LONGEST_MESSAGE:
                    break  # The process ended in the middle of a message.
                text = line.decode(errors="replace")
                try:
                    self._inbox.put(decode(text))
                except ValueError as error:
                    _log.warning("No message: %s", str(error)[:_CHARACTERS_SHOWN])
                    self._inbox.put(Lost(f"said what is no message: {text.strip()[:_CHARACTERS_SHOWN]!r}"))
                    return
        self._process.wait()
        self._errors.join(timeout=1)
        self._inbox.put(self._end(self._process.returncode, list(self._stderr)))

    def _read_stderr(self, stream: BufferedReader) -> None:
        with stream:
            while line := stream.readline(_LONGEST_STDERR_LINE):
                if text := line.decode(errors="replace").strip():
                    self._stderr.append(text)

    def _end(self, code: int, lines: list[str]) -> Lost:
        if code < 0:
            names = {each.value: each.name for each in signal.Signals}
            how = f"was ended by signal {names.get(-code, -code)}"
            if -code == signal.SIGKILL:
                how += " (the system does that when memory runs out)"
        else:
            how = f"ended with exit code {code}"
        words = list(filter(_ERROR_LINE.match, lines)) or lines
        return Lost(f"{how}: {words[-1][:_CHARACTERS_SHOWN]}" if words else how)


Launch = Callable[[], WorkerProcess]


def visible_gpus(environment: Mapping[str, str], driver: Callable[[], Driver] = driver) -> tuple[str, ...]:
    """The values that CUDA_VISIBLE_DEVICES may have, one a GPU; none without a driver."""
    if "CUDA_VISIBLE_DEVICES" in environment:
        entries = (entry.strip() for entry in environment["CUDA_VISIBLE_DEVICES"].split(","))
        return tuple(takewhile(lambda entry: entry and not entry.startswith("-"), entries))
    return driver().uuids


def launchers(gpus: tuple[str, ...]) -> tuple[Launch, ...]:
    environments = [{"CUDA_VISIBLE_DEVICES": gpu} for gpu in gpus] or [{}]
    return tuple(partial(WorkerProcess, _COMMAND, env=project_path() | each) for each in environments)


def project_path() -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(TOP), os.environ.get("PYTHONPATH"))))}


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Seconds: to load, to begin a sent job, for a job, to end one on request.

    After n failures in a row a worker rests min(rest_s · 2**(n - 1), longest_rest_s).
    """

    start_s: float = 180.0
    begin_s: float = 30.0
    job_s: float = 300.0
    stop_s: float = 5.0
    rest_s: float = 0.5
    longest_rest_s: float = 30.0
    tick_s: float = 0.1


class Supervisor(threading.Thread):
    """Serves the queue's runs in turn, until the queue is closed or the worker's host is lost.

    `is_eager`: the worker starts before a job comes, and warms up.
    """

    def __init__(self, queue: "WorkerQueue", launch: Launch, limits: Limits, *, is_eager: bool) -> None:
        super().__init__(name="gemm-worker", daemon=True)
        self._queue, self._launch, self._limits, self._is_eager = queue, launch, limits, is_eager
        self._process: WorkerProcess | None = None
        self._is_ready = False
        self._failures = 0
        self._last_end = ""
        self.is_retired = False

    def run(self) -> None:
        limits = self._limits
        if self._is_eager:
            with suppress(Lost):  # A job raises it again.
                self._start()
                self._alive.send(WarmUp())
        while not self.is_retired:
            rest_s = limits.rest_s * 2 ** min(self._failures - 1, 30) if self._failures else 0.0
            not_before = self._queue.clock() + min(rest_s, limits.longest_rest_s)
            if (run := self._queue.take(not_before=not_before, idle=self._while_idle)) is None:
                break
            try:
                end = self._load(run) or self._work(run)
            except Lost as lost:
                end = self._without_worker(run, lost)
            if end is not None:
                self._queue.finish(run, end)
        self._queue.remove(self)
        if self._process is not None:
            self._process.close(limits.stop_s)

    def _start(self) -> None:
        try:
            self._process = self._launch()
        except OSError as error:
            raise Lost(f"could not be started: {error}") from error
        self._is_ready = False

    def _load(self, run: "Run") -> Final | None:
        if self._process is not None and (not self._process.is_alive or self._process.is_frozen):
            self._end_process()
        if self._process is None:
            self._start()
        while not self._is_ready:
            if not self._queue.is_wanted(run):
                return STOPPED
            if self._queue.clock() > run.since + self._limits.start_s:
                return self._failed(f"The worker did not load within {self._limits.start_s:g} s.")
            self._hear_ready(self._limits.tick_s)
        return None

    def _hear_ready(self, timeout_s: float) -> None:
        match self._alive.receive(timeout_s):
            case Ready(gpu):
                self._is_ready = True
                if gpu is not None:
                    self._queue.compile_for(gpu)
            case None:
                pass
            case message:
                raise _out_of_turn(message)

    def _while_idle(self) -> None:
        if self._process is not None and not self._is_ready:
            try:
                self._hear_ready(0)
            except Lost:
                self._end_process()

    def _work(self, run: "Run") -> Final | None:
        """Have the worker do a run; None if it gave way, and goes back to the queue."""
        queue, clock, limits = self._queue, self._queue.clock, self._limits
        self._alive.send(Do(run.number, run.job, run.so_far, queue.coming(), run.simple_first))
        since, is_asked_to_stop, unwanted_since = clock(), False, None
        while True:
            match self._alive.receive(limits.tick_s):
                case Began(number) if number == run.number and run.progress is None:
                    queue.report(run, 0.0, "starting")
                    since = clock()
                case Finished(number, row) if number == run.number and row.job == run.job:
                    return self._well(Done(row))
                case Refused(number, reason) if number == run.number:
                    return self._well(Failed(reason))
                case Halted(number) if number == run.number:
                    if not queue.is_wanted(run):
                        return STOPPED
                    queue.give_way(run)
                    return self._well(None)
                case Progress(number, fraction, note, partial) if number == run.number:
                    queue.report(run, fraction, note, partial)
                case None:
                    pass
                case message:
                    raise _out_of_turn(message)
            if run.progress is None and clock() - since > limits.begin_s:
                raise Lost(f"did not answer within {limits.begin_s:g} s")
            if clock() - since > limits.job_s:
                return self._failed(f"Ended after {limits.job_s:g} s, the most a job may take: {_CURE}")
            is_wanted = queue.is_wanted(run)
            if not is_asked_to_stop and (not is_wanted or queue.must_give_way(run)):
                self._alive.send(Stop(run.number))
                is_asked_to_stop = True
            if unwanted_since is None and not is_wanted:
                unwanted_since = clock()
            grace_s = 0.0 if queue.is_closed else limits.stop_s
            if unwanted_since is not None and clock() - unwanted_since > grace_s:
                self._end_process()
                return STOPPED

    @property
    def _alive(self) -> WorkerProcess:
        assert self._process is not None, "a job is served by a worker that was launched"
        return self._process

    def _well(self, end: Final | None) -> Final | None:
        self._failures, self._last_end = 0, ""
        return end

    def _without_worker(self, run: "Run", lost: Lost) -> Failed | None:
        """Drop a worker that was lost with a run; None if another one may try it.

        The run is not to blame for a worker that never began it, nor for the loss of a host.
        """
        self.is_retired, has_begun = lost.with_host, run.progress is not None
        if has_begun and not lost.with_host:
            is_known, self._last_end = str(lost) == self._last_end, str(lost)
            again = f"So did the worker of the job before. {_CHECK}" if is_known else _FRESH
            return self._failed(f"The worker {lost}. {again}")
        if not has_begun:
            run.takes -= lost.with_host  # It cost this run nothing to find out.
        if run.takes >= _TAKES:
            return self._failed(
                f"Two workers in a row were lost with this job. The last one {lost}. {_CHECK}"
            )
        run.so_far = None if has_begun else run.so_far  # The rest would be another GPU's.
        self._failed(f"The worker {lost}, and the job goes back to the queue.")
        self._queue.put_back(run)
        return None

    def _failed(self, reason: str) -> Failed:
        tail = self._process.stderr_tail if self._process is not None else ""
        _log.warning("%s stderr: %s", reason, tail)
        self._failures += 1
        self._end_process()
        return Failed(reason)

    def _end_process(self) -> None:
        if self._process is not None:
            self._process.kill()
        self._process = None


def _out_of_turn(message: Message) -> Lost:
    return Lost(f"said {type(message).__name__.lower()!r} out of turn")
