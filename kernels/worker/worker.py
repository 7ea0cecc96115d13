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
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    may_become_message,
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
_TAKES = 2  # workers that may try to begin one job
_HOSTS = 2
"""Hosts lost in the middle of a job, before it is given up."""

_LONGEST_MESSAGE = 16 << 20
_CHUNK = 1 << 16
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
        try:
            self._process.wait(grace_s)
        except subprocess.TimeoutExpired:
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
            for line in _lines(stream):
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
            how = f"was ended by signal {_signal_name(-code)}"
            if -code == signal.SIGKILL:
                how += " (the system does that when memory runs out)"
        else:
            how = f"ended with exit code {code}"
        last_words = next(
            (line for line in reversed(lines) if _ERROR_LINE.match(line)), lines[-1] if lines else ""
        )
        return Lost(f"{how}: {last_words[:_CHARACTERS_SHOWN]}" if last_words else how)


def _lines(stream: BufferedReader) -> Iterator[bytes]:
    """Complete lines; also the start of a line once it cannot become a message."""
    start = bytearray()
    while chunk := stream.read1(_CHUNK):
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            yield bytes(start + line)
            start.clear()
        start += rest
        if not may_become_message(start) or len(start) > _LONGEST_MESSAGE:
            yield bytes(start)
            start.clear()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


Launch = Callable[[], WorkerProcess]


def visible_gpus(environment: Mapping[str, str], driver: Callable[[], Driver] = driver) -> tuple[str, ...]:
    """The values that CUDA_VISIBLE_DEVICES may have, one a GPU; none without a driver."""
    if "CUDA_VISIBLE_DEVICES" in environment:
        entries = (entry.strip() for entry in environment["CUDA_VISIBLE_DEVICES"].split(","))
        return tuple(takewhile(lambda entry: entry and not entry.startswith("-"), entries))
    return driver().uuids


def launchers(gpus: tuple[str, ...]) -> tuple[Launch, ...]:
    def launch(**environment: str) -> WorkerProcess:
        return WorkerProcess(_COMMAND, env={**project_path(), **environment})

    return tuple(partial(launch, CUDA_VISIBLE_DEVICES=gpu) for gpu in gpus) or (launch,)


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
        self.device: str | None = None

    def run(self) -> None:
        if self._is_eager:
            with suppress(Lost):  # A job raises it again.
                self._start()
                self._alive.send(WarmUp())
        while not self.is_retired:
            not_before = self._queue.clock() + self._rest_s
            if (run := self._queue.take(not_before=not_before, idle=self._hear_ready)) is None:
                break
            try:
                end = self._serve(run)
            except _GivesWay:
                self._queue.give_way(run)
            else:
                if end is None:
                    self._queue.put_back(run)
                else:
                    self._queue.finish(run, end)
        self._queue.remove(self)
        if self._process is not None:
            self._process.close(self._limits.stop_s)

    @property
    def _rest_s(self) -> float:
        if not self._failures:
            return 0.0
        return min(self._limits.rest_s * 2 ** min(self._failures - 1, 30), self._limits.longest_rest_s)

    def _serve(self, run: "Run") -> Final | None:
        """Run one job to its end; None if it goes back to the queue. Raises _GivesWay."""
        has_begun = False
        try:
            end = self._load(run) or self._begin(run)
            if end is not None:
                return end
            has_begun = True
            return self._await_result(run)
        except Lost as lost:
            self.is_retired = lost.with_host
            if not has_begun:
                run.takes -= lost.with_host  # It cost this run nothing to find out.
                return self._not_begun(run, lost)
            return self._host_lost(run, lost) if lost.with_host else self._broken_off(lost)

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
        deadline = run.since + self._limits.start_s
        while not self._is_ready:
            if not self._queue.is_wanted(run):
                return STOPPED
            match self._alive.receive(self._limits.tick_s):
                case Ready() as ready:
                    self._note_ready(ready)
                case None if self._queue.clock() > deadline:
                    return self._failed(f"The worker did not load within {self._limits.start_s:g} s.")
                case None:
                    pass
                case message:
                    raise _out_of_turn(message)
        return None

    def _hear_ready(self) -> None:
        if self._process is None or self._is_ready:
            return
        try:
            message = self._process.receive(0)
        except Lost:
            self._end_process()
        else:
            if isinstance(message, Ready):
                self._note_ready(message)

    def _note_ready(self, ready: Ready) -> None:
        self.device, self._is_ready = ready.device, True
        if ready.gpu is not None:
            self._queue.compile_for(ready.gpu)

    def _begin(self, run: "Run") -> None:
        self._alive.send(Do(run.number, run.job, run.so_far, self._queue.coming(), run.simple_first))
        deadline = self._queue.clock() + self._limits.begin_s
        while True:
            match self._alive.receive(self._limits.tick_s):
                case Began(number) if number == run.number:
                    self._queue.report(run, 0.0, "starting")
                    return
                case None if self._queue.clock() > deadline:
                    raise Lost(f"did not answer within {self._limits.begin_s:g} s")
                case None:
                    pass
                case message:
                    raise _out_of_turn(message)

    def _await_result(self, run: "Run") -> Final:
        clock, limits = self._queue.clock, self._limits
        began = clock()
        is_asked_to_stop, unwanted_since = False, None
        while True:
            match self._alive.receive(limits.tick_s):
                case Finished(number, row) if number == run.number and row.job == run.job:
                    return self._well(Done(row))
                case Refused(number, reason) if number == run.number:
                    return self._well(Failed(reason))
                case Halted(number) if number == run.number:
                    if self._queue.is_wanted(run):
                        self._well(STOPPED)
                        raise _GivesWay
                    return STOPPED
                case Progress(number, fraction, note, partial) if number == run.number:
                    self._queue.report(run, fraction, note, partial)
                case None:
                    pass
                case message:
                    raise _out_of_turn(message)
            if clock() - began > limits.job_s:
                return self._failed(f"Ended after {limits.job_s:g} s, the most a job may take: {_CURE}")
            is_wanted = self._queue.is_wanted(run)
            if not is_asked_to_stop and (not is_wanted or self._queue.must_give_way(run)):
                self._alive.send(Stop(run.number))
                is_asked_to_stop = True
            if unwanted_since is None and not is_wanted:
                unwanted_since = clock()
            grace_s = 0.0 if self._queue.is_closed else limits.stop_s
            if unwanted_since is not None and clock() - unwanted_since > grace_s:
                self._end_process()
                return STOPPED

    @property
    def _alive(self) -> WorkerProcess:
        assert self._process is not None, "a job is served by a worker that was launched"
        return self._process

    def _well(self, end: Final) -> Final:
        self._failures, self._last_end = 0, ""
        return end

    def _not_begun(self, run: "Run", lost: Lost) -> Failed | None:
        """Drop a worker that was lost before it began the run; None if another may try."""
        if run.takes - run.hosts_lost < _TAKES:
            self._failed(f"The worker {lost}, and the job goes back to the queue.")
            return None
        return self._failed(f"Two workers in a row could not begin this job. The last one {lost}. {_CHECK}")

    def _host_lost(self, run: "Run", lost: Lost) -> Failed | None:
        """Drop a worker that was lost with its host: no fault of the job, so another may try it."""
        run.hosts_lost += 1
        if run.hosts_lost < _HOSTS:
            run.takes = run.hosts_lost  # It comes first, and two workers may try to begin it.
            run.so_far = None  # The rest would be another GPU's.
            self._failed(f"The worker {lost}, and the job goes back to the queue.")
            return None
        return self._failed(f"Two hosts were lost in the middle of this job. The last worker {lost}.")

    def _broken_off(self, lost: Lost) -> Failed:
        """Drop a worker that was lost in the middle of a run. After two alike, the job is not to blame."""
        is_known, self._last_end = str(lost) == self._last_end, str(lost)
        again = f"So did the worker of the job before. {_CHECK}" if is_known else _FRESH
        return self._failed(f"The worker {lost}. {again}")

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


class _GivesWay(Exception):
    pass


def _out_of_turn(message: Message) -> Lost:
    return Lost(f"said {type(message).__name__.lower()!r} out of turn")
