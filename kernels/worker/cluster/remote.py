"""A worker on another host as the supervisor sees it: the process of its relay."""

from collections.abc import Mapping, Sequence

from kernels.worker.launch import project_path
from kernels.worker.process import Ended, Vanished, WorkerProcess

WORKER_ENDED = 70
"""The relay's exit code where the far worker ended.

All other codes say that the host is gone, or the way to it.
"""
SAYS_HOW = "It ended: "
"""The start of the line of the relay's stderr that says how: Ray writes there too, even after it."""


class RemoteWorker(WorkerProcess):
    """One worker on another host. `command` is its relay, which ends as the worker does."""

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str] | None = None) -> None:
        self._is_ended_here = False
        super().__init__(command, env={**project_path(), **(env or {})})

    @property
    def has_vanished(self) -> bool:
        """True if it ended with its host, and neither by itself nor by this side."""
        return not self.is_alive and not self._is_ended_here and self.exit_code != WORKER_ENDED

    def kill(self) -> None:
        """End the relay; Ray then ends the actor, and the worker with it."""
        self._is_ended_here = self._is_ended_here or self.is_alive
        super().kill()

    def close(self, grace_s: float) -> None:
        """Ask the far worker to end, and kill it if it has not ended after `grace_s`."""
        self._is_ended_here = self._is_ended_here or self.is_alive
        super().close(grace_s)

    def _end(self, code: int, lines: list[str]) -> Ended | Vanished:
        said = [line.removeprefix(SAYS_HOW) for line in lines if line.startswith(SAYS_HOW)]
        if code == WORKER_ENDED and said:
            return Ended(said[-1])
        return Vanished(f"was lost: {(said or lines or ['its relay ended'])[-1]}")
