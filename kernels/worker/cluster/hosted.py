"""A worker on the host where its GPU is: what the relay calls, through Ray."""

from collections.abc import Sequence
from dataclasses import dataclass

from kernels.worker.launch import worker_process
from kernels.worker.messages import decode, encode
from kernels.worker.process import Ended, Frozen, Garbled, Vanished, WorkerProcess


@dataclass(frozen=True)
class Report:
    """What a worker said since the last report: lines for stdout, and the end of its stderr.

    `how` is None as long as it runs; then it ends the sentence "the worker …".
    """

    lines: tuple[str, ...]
    stderr: str
    how: str | None


class Hosted:
    """One worker process. Ray has chosen its GPU: CUDA_VISIBLE_DEVICES is set here.

    `command` is another program than the worker, for tests.
    """

    def __init__(self, command: Sequence[str] = ()) -> None:
        self._process = WorkerProcess(command) if command else worker_process({})

    def send(self, line: str) -> None:
        """Hand a message over."""
        self._process.send(decode(line))

    def hear(self, wait_s: float) -> Report:
        """What it says, after `wait_s` at the latest."""
        lines: list[str] = []
        how = None
        heard = self._process.receive(wait_s)
        while heard is not None and how is None:
            match heard:
                case Ended(how) | Vanished(how):
                    break
                case Frozen():
                    how = "was frozen by a signal such as SIGSTOP"
                    self._process.kill()
                case Garbled(text):
                    lines.append(f"{text}\n")
                case said:
                    lines.append(encode(said))
            heard = self._process.receive(0)
        return Report(tuple(lines), self._process.stderr_tail, how)

    def close(self, grace_s: float) -> None:
        """Ask it to end, and kill it if it has not ended after `grace_s`."""
        self._process.close(grace_s)
