"""State that a class's sessions share: who teaches, where the class is led, who is here.

It ends with the server. It is no Streamlit cache, which any visitor can empty.
"""

import hmac
import re
import secrets
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import streamlit as st

# Letters and digits that nobody takes for another
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
_LONGEST = 200
WRONG = "This is not the token. The terminal that started the server shows it."


def new_token() -> str:
    """A secret of 31 letters at twelve places: 59 bits."""
    return "-".join("".join(secrets.choice(_LETTERS) for _ in range(4)) for _ in range(3))


def _bare(text: str) -> bytes:
    """Normalize a typed token: no spaces or dashes, lower case."""
    return "".join(text[:_LONGEST].split()).replace("-", "").lower().encode(errors="replace")


COOKIE = "fp8_explorer_visitor"
_STATE_KEY = "_visitor"
_WELL_FORMED = re.compile(r"[0-9a-f]{32}", re.ASCII)


def visitor() -> str:
    """Id in this browser's cookie, else one of this session."""
    cookie = st.context.cookies.get(COOKIE, "")
    return cookie if is_well_formed(cookie) else st.session_state.setdefault(_STATE_KEY, new_visitor())


def new_visitor() -> str:
    return uuid.uuid4().hex


def is_well_formed(text: object) -> bool:
    return isinstance(text, str) and _WELL_FORMED.fullmatch(text) is not None


HERE_S = 10.0  # seconds after which somebody whose page asks no more is gone
_VISITORS_MOST = 1000


@dataclass(frozen=True, kw_only=True)
class Lead:
    """The teacher's page. `number` counts beginnings, `version` moves."""

    number: int
    version: int
    page: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Present:
    follows: bool
    heard: float
    session: str


class Shared:
    def __init__(self, token: str | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.token = token or new_token()
        self._clock = clock
        self._lock = threading.Lock()
        self._teachers: set[str] = set()
        self._present: OrderedDict[str, Present] = OrderedDict()
        self._lead: Lead | None = None
        self._last = Lead(number=0, version=0)
        # The step whose question a teacher's view shows
        self.question: str | None = None

    def enter(self, text: str, visitor: str) -> str | None:
        """Make a visitor a teacher. Returns a sentence if the token is wrong."""
        # In constant time: how long it takes says nothing of how much was right.
        if not hmac.compare_digest(_bare(text), _bare(self.token)):
            return WRONG
        with self._lock:
            self._teachers.add(visitor)
            self._present.pop(visitor, None)
        return None

    def leave(self, visitor: str) -> None:
        with self._lock:
            self._teachers.discard(visitor)
            if not self._teachers:
                self._lead = self.question = None

    def is_teacher(self, visitor: str) -> bool:
        return visitor in self._teachers

    def lead(self, is_led: bool) -> None:
        with self._lock:
            if is_led and self._lead is None:
                self._last = Lead(number=self._last.number + 1, version=self._last.version + 1)
                self._lead = self._last
            elif not is_led:
                self._lead = None

    def led(self) -> Lead | None:
        return self._lead

    def publish(self, page: str, parameters: Mapping[str, str]) -> None:
        with self._lock:
            lead = self._lead
            if lead is None or (lead.page, lead.parameters) == (page, parameters):
                return
            self._last = self._lead = replace(
                lead, version=lead.version + 1, page=page, parameters=dict(parameters)
            )

    def saw(self, visitor: str, session: str, *, follows: bool) -> None:
        with self._lock:
            self._present[visitor] = Present(follows, self._clock(), session)
            self._present.move_to_end(visitor)
            while len(self._present) > _VISITORS_MOST:
                self._present.popitem(last=False)

    def present(self) -> dict[str, Present]:
        with self._lock:
            since = self._clock() - HERE_S
            return {name: one for name, one in self._present.items() if one.heard >= since}


_SHARED = Shared()


def shared() -> Shared:
    return _SHARED
