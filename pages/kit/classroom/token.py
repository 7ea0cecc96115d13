"""The teacher's token: made when the server starts, printed on its terminal, never part of an address."""

import hmac
import secrets
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable

_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""Letters and digits that nobody takes for another."""
_GROUPS, _GROUP = 3, 4
TRIES, ALL_TRIES, MINUTE_S = 5, 60, 60.0
"""Tries of one visitor and of all together, in so many seconds."""
_VISITORS_KNOWN = 1000
_LONGEST = 200
WRONG = "This is not the token. The terminal that started the server shows it."
TOO_MANY = "Too many tries. Wait a minute, and try again."


class Token:
    """A secret, and the tries to guess it. Thread-safe."""

    def __init__(self, text: str | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.text = text or "-".join(
            "".join(secrets.choice(_LETTERS) for _ in range(_GROUP)) for _ in range(_GROUPS)
        )
        self._clock = clock
        self._lock = threading.Lock()
        self._tries: OrderedDict[str, deque[float]] = OrderedDict()
        self._all: deque[float] = deque()

    def refusal(self, told: str, visitor: str) -> str | None:
        """A sentence on why a visitor's try does not count; None where it is the token."""
        with self._lock:
            if not self._may_try(visitor):
                return TOO_MANY
        # In constant time: how long it takes says nothing of how much was right.
        is_right = hmac.compare_digest(_bare(told), _bare(self.text))
        return None if is_right else WRONG

    def _may_try(self, visitor: str) -> bool:
        """Count a try, where the visitor has one left.

        A program can invent visitors: all of them together have few tries, too.
        """
        own = self._tries.setdefault(visitor, deque())
        self._tries.move_to_end(visitor)
        while len(self._tries) > _VISITORS_KNOWN:
            self._tries.popitem(last=False)
        now = self._clock()
        for tries in (own, self._all):
            while tries and tries[0] <= now - MINUTE_S:
                tries.popleft()
        if len(own) >= TRIES or len(self._all) >= ALL_TRIES:
            return False
        own.append(now)
        self._all.append(now)
        return True


def _bare(told: str) -> bytes:
    """What was typed, without spaces and dashes, in lower case. A very long text is no token."""
    return "".join(told[:_LONGEST].split()).replace("-", "").lower().encode(errors="replace")
