"""A watch over a check. A kernel that waits for ever holds the process, which then hears no Ctrl-C either."""

import threading
from collections.abc import Callable
from types import TracebackType

from kernels.check.report import Report

LONGEST_S = 300.0
"""Seconds for which a step may say nothing. Where nothing is compiled yet, one can take a minute."""


class Watch:
    """Call `give_up(the last report heard, longest_s)`, once, where nothing was heard for `longest_s`.

    A thread of its own makes the call: the one that checks is held. The watch begins with the first report.
    """

    def __init__(self, give_up: Callable[[Report, float], None], longest_s: float = LONGEST_S) -> None:
        self._give_up, self._longest_s = give_up, longest_s
        self._heard = threading.Event()
        self._ended = False
        self._last: Report | None = None
        self._thread = threading.Thread(target=self._wait, name="check-watch", daemon=True)

    def __enter__(self) -> "Watch":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = True
        self._heard.set()

    def hear(self, report: Report) -> None:
        """Note that the check goes on, and how far it is."""
        self._last = report
        self._heard.set()
        if not self._thread.is_alive() and not self._ended:
            self._thread.start()

    def _wait(self) -> None:
        while not self._ended:
            self._heard.clear()
            if not self._heard.wait(self._longest_s) and not self._ended and self._last is not None:
                self._give_up(self._last, self._longest_s)
                return
