"""The checks of all sessions of this server, kept by the process that owns the queue; newest first."""

import threading
from dataclasses import dataclass, replace

from kernels.check.report import CheckJob, Report
from kernels.check.run import cut_short
from kernels.worker.jobs import Done, Failed, Final, Stopped, Ticket
from pages.kit.gemm import queue_panel as gpu_queue

MOST_CHECKS = 20


@dataclass(frozen=True, kw_only=True)
class Past:
    """A finished check. `number` counts the checks of this server from 1.

    `end` is a sentence on why it ended before its last line; empty where it did not.
    """

    number: int
    report: Report
    end: str = ""

    @property
    def run(self) -> tuple[CheckJob, str]:
        """A key of a run: equal for sessions that share it."""
        return self.report.job, self.report.started


class History:
    """The reports of at most MOST_CHECKS checks, and the tickets of unfinished checks. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._open: list[Ticket] = []
        self._past: list[Past] = []
        self._count = 0

    def follow(self, ticket: Ticket) -> None:
        """Keep the result of this ticket's check, even without its session."""
        with self._lock:
            if ticket not in self._open:
                self._open.append(ticket)

    def past(self) -> tuple[Past, ...]:
        with self._lock:
            for ticket in list(self._open):
                state = gpu_queue.workers().queue.state(ticket)
                if isinstance(state, Final):
                    self._open.remove(ticket)
                    self.keep(state)
            return tuple(self._past)

    @property
    def is_busy(self) -> bool:
        with self._lock:
            return bool(self._open)

    def keep(self, end: Final) -> None:
        """Keep a report, or a partial one; of two reports of one run, the longer."""
        with self._lock:
            if isinstance(end, Done) and isinstance(end.row, Report):
                past = Past(number=self._count + 1, report=end.row)
            elif isinstance(end, Failed | Stopped) and isinstance(end.partial, Report):
                past = Past(number=self._count + 1, report=cut_short(end.partial), end=end.reason)
            else:
                return
            same = next((place for place, other in enumerate(self._past) if other.run == past.run), None)
            if same is None:
                self._count += 1
                self._past = [past, *self._past[: MOST_CHECKS - 1]]
            elif past.report.seconds > self._past[same].report.seconds:
                self._past[same] = replace(past, number=self._past[same].number)


_HISTORY = History()


def history() -> History:
    """The server's one history: like the queue, it outlives a cleared cache."""
    return _HISTORY
