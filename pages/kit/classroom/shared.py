"""What all sessions of a class share: who teaches, where the class is led, who is here.

It ends with the server; what outlives the server is in the store. It is no cache of Streamlit's, which any
visitor can empty.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from pages.kit.classroom.token import Token

HERE_S = 10.0
"""Seconds after which somebody whose page asks no more is gone."""
_VISITORS_MOST = 1000


@dataclass(frozen=True, kw_only=True)
class Lead:
    """Where the teacher leads. `number` counts the times that somebody began to lead, `version` the moves.

    `page` is the name of the teacher's page; None until the first one.
    """

    number: int
    version: int
    page: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Present:
    """One visitor whose page is open, and since when the server has not heard of it."""

    follows: bool
    heard: float
    session: str


class Shared:
    """One class. Thread-safe."""

    def __init__(self, token: Token | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.token = token or Token()
        self._clock = clock
        self._lock = threading.Lock()
        self._teachers: set[str] = set()
        self._present: OrderedDict[str, Present] = OrderedDict()
        self._lead: Lead | None = None
        self._last = Lead(number=0, version=0)

    def enter(self, told: str, visitor: str) -> str | None:
        """Make a visitor a teacher. Returns a sentence where the token is wrong."""
        refusal = self.token.refusal(told, visitor)
        if refusal is None:
            with self._lock:
                self._teachers.add(visitor)
                self._present.pop(visitor, None)
        return refusal

    def leave(self, visitor: str) -> None:
        """Make a teacher a visitor like others."""
        with self._lock:
            self._teachers.discard(visitor)
            if not self._teachers:
                self._lead = None

    def is_teacher(self, visitor: str) -> bool:
        """True for a visitor who gave the token since the server started."""
        return visitor in self._teachers

    def lead(self, is_led: bool) -> None:
        """Begin to lead the class, or let it go."""
        with self._lock:
            if is_led and self._lead is None:
                self._last = Lead(number=self._last.number + 1, version=self._last.version + 1)
                self._lead = self._last
            elif not is_led:
                self._lead = None

    def led(self) -> Lead | None:
        """Where the class is led; None where nobody leads it."""
        return self._lead

    def publish(self, page: str, parameters: Mapping[str, str]) -> None:
        """Lead the class to an address, where it is led at all."""
        with self._lock:
            lead = self._lead
            if lead is None or (lead.page, lead.parameters) == (page, parameters):
                return
            self._last = self._lead = replace(
                lead, version=lead.version + 1, page=page, parameters=dict(parameters)
            )

    def saw(self, visitor: str, session: str, *, follows: bool) -> None:
        """Note that a visitor's page has asked."""
        with self._lock:
            self._present[visitor] = Present(follows, self._clock(), session)
            self._present.move_to_end(visitor)
            while len(self._present) > _VISITORS_MOST:
                self._present.popitem(last=False)

    def present(self) -> dict[str, Present]:
        """The visitors whose pages are open, teachers left out."""
        with self._lock:
            since = self._clock() - HERE_S
            return {name: one for name, one in self._present.items() if one.heard >= since}


_SHARED = Shared()


def shared() -> Shared:
    """The one class of this server."""
    return _SHARED
