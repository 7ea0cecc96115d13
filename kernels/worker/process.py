"""A worker as its parent sees it: a process to talk to, and the sentence on how it ended."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from queue import Empty, SimpleQueue
from typing import BinaryIO

from kernels.worker.messages import Message, decode, encode, may_become_message

_LONGEST_MESSAGE = 16 << 20
_CHUNK = 1 << 16
_LONGEST_STDERR_LINE = 4096
_STDERR_LINES_KEPT = 60
_TOLD_CHARACTERS = 300
_ERROR_LINE = re.compile(r"[\w.]*(Error|Exception)\b.*")


@dataclass(frozen=True)
class Garbled:
    """The worker wrote bytes that are no message; `why` is the reason. Later output is ignored."""

    text: str
    why: str


@dataclass(frozen=True)
class Ended:
    """The worker is gone; `how` ends the sentence "the worker …"."""

    how: str


@dataclass(frozen=True)
class Frozen:
    """A signal such as SIGSTOP froze the worker: it neither works nor ends."""


@dataclass(frozen=True)
class Vanished:
    """The host of the worker is gone, or the way to it; `how` ends the sentence "the worker …"."""

    how: str


class HostGone(OSError):
    """Raised where a worker is to start on a host that is gone."""


Heard = Message | Garbled | Ended | Vanished | Frozen


class WorkerProcess:
    """One running worker. `command` is its program; it inherits the environment with `env` on top."""

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        )
        self._heard: SimpleQueue[Heard] = SimpleQueue()
        self._stderr: deque[str] = deque(maxlen=_STDERR_LINES_KEPT)
        self._errors = threading.Thread(target=self._read_stderr, daemon=True)
        self._errors.start()
        self._reader = threading.Thread(target=self._read_stdout, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """How it ended, as subprocess tells it; None while it runs."""
        return self._process.poll()

    @property
    def is_frozen(self) -> bool:
        """True if a signal such as SIGSTOP keeps it from running; False on a system that does not tell."""
        if not hasattr(os, "waitid"):
            return False
        try:
            # WNOWAIT leaves the news where it is; its end is Popen's to hear of.
            return os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return False

    @property
    def stderr_tail(self) -> str:
        """The last lines that it wrote to stderr."""
        return "\n".join(self._stderr)

    def send(self, message: Message) -> None:
        """Send a message. A worker that is gone shows later, as Ended."""
        with suppress(BrokenPipeError):
            self._stdin.write(encode(message).encode())
            self._stdin.flush()

    def receive(self, timeout_s: float) -> Heard | None:
        """The worker's next message; the last one is Garbled, Ended or Vanished.

        None if nothing came in time, or Frozen if a signal froze the worker.
        """
        try:
            return self._heard.get(timeout=timeout_s)
        except Empty:
            if not self.is_alive and self._reader.is_alive():
                self._kill_group()
            return Frozen() if self.is_frozen else None

    def kill(self) -> None:
        """Kill it if it has not ended, and wait until it has."""
        self._kill_group()
        self._process.wait()
        with suppress(BrokenPipeError):
            self._stdin.close()

    def close(self, grace_s: float) -> None:
        """Close its stdin, which asks it to end, and kill it if it has not ended after `grace_s`."""
        with suppress(BrokenPipeError):
            self._stdin.close()
        try:
            self._process.wait(grace_s)
        except subprocess.TimeoutExpired:
            self.kill()

    @property
    def _stdin(self) -> BinaryIO:
        assert self._process.stdin is not None, "the worker was started with a pipe"
        return self._process.stdin

    def _kill_group(self) -> None:
        """Kill it, and the processes that it started, which may hold its pipes open."""
        if sys.platform == "win32":
            self._process.kill()
            return
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _read_stdout(self) -> None:
        stream = self._process.stdout
        assert stream is not None, "the worker was started with a pipe"
        with stream:
            for line in _lines(stream):
                text = line.decode(errors="replace")
                try:
                    self._heard.put(decode(text))
                except ValueError as error:
                    self._heard.put(Garbled(text.strip()[:_TOLD_CHARACTERS], str(error)[:_TOLD_CHARACTERS]))
                    return
        self._process.wait()
        self._errors.join(timeout=1)
        self._heard.put(self._end(self._process.returncode, list(self._stderr)))

    def _read_stderr(self) -> None:
        stream = self._process.stderr
        assert stream is not None, "the worker was started with a pipe"
        with stream:
            while line := stream.readline(_LONGEST_STDERR_LINE):
                if text := line.decode(errors="replace").strip():
                    self._stderr.append(text)

    def _end(self, code: int, lines: list[str]) -> Ended | Vanished:
        """The last thing that is heard of it, by its exit code and the end of its stderr."""
        if code < 0:
            how = f"was ended by signal {_signal_name(-code)}"
            if -code == signal.SIGKILL:
                how += " (the system does that when memory runs out)"
        else:
            how = f"ended with exit code {code}"
        said = next((line for line in reversed(lines) if _ERROR_LINE.match(line)), lines[-1] if lines else "")
        return Ended(f"{how}: {said[:_TOLD_CHARACTERS]}" if said else how)


def _lines(stream: BufferedReader) -> Iterator[bytes]:
    """The complete lines, and the start of a line as soon as it cannot become a message."""
    held = bytearray()
    while chunk := stream.read1(_CHUNK):
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            yield bytes(held + line)
            held.clear()
        held += rest
        if not may_become_message(held) or len(held) > _LONGEST_MESSAGE:
            yield bytes(held)
            held.clear()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
