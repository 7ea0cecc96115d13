"""What students do: they change a control to a value that nobody had, look for a while, and change another.

Whatever they do is drawn at random from a seed. The phases: many sessions at once, many that think, and many
that come and go.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from websockets.exceptions import WebSocketException

from pages.kit.address import RUN_KEY
from tests.load.session import Session, Took, opened
from tests.load.view import Path

# The pages by their addresses, and the control that shows another section of each
SECTIONS = {
    "": "",
    "tile_layouts": "show",
    "why_fp8": "why_show",
    "compare_recipes": "differ_show",
    "formats": "formats",
    "scaling": "scaling",
    "stochastic_rounding": "part",
    "rotations": "rotations_show",
    "accumulation": "sum_show",
    "outliers": "outliers_show",
    "design": "design_show",
    "live_gemm": "",
    "benchmarks": "bench_show",
    "fused": "fused_show",
    "loss": "loss_show",
    "sanity_check": "",
}
SEED = "seed"
THINK_S = (1.5, 4.5)
# The share of a student's actions that go to another page, or to another section
PAGE_CHANGES, SECTION_CHANGES = 0.06, 0.12
TRIES = 60
AT_ONCE = 12  # sessions that are there at the same time while sessions come and go
LOST = (TimeoutError, OSError, WebSocketException)


@dataclass(frozen=True)
class Sample:
    page: str
    query: str
    picture: dict[Path, Any]


@dataclass
class Class:
    """Those who use one server: what was asked, what came, and what is to be asked for again."""

    draw: random.Random
    samples_kept: int
    asked: set[tuple] = field(default_factory=set)
    opened_s: list[float] = field(default_factory=list)
    # How long answers took, by phase and page
    answers: dict[str, dict[str, list[Took]]] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)
    exceptions: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    _counted: int = 0

    def unseen(self, session: Session, keys: list[str]) -> tuple[str, Any] | None:
        """A control, and a value for it with which nobody has seen this page; None where nothing is left."""
        view, found = session.view, None
        for _ in range(TRIES if keys else 0):
            key = self.draw.choice(keys)
            value = view.widgets[key].other_value(self.draw)
            if value is None:
                continue
            found = key, value
            values = {k: widget.value for k, widget in view.widgets.items()} | {key: value}
            combination = (session.page, *sorted(map(str, values.items())))
            if combination not in self.asked:
                self.asked.add(combination)
                break
        return found

    def note(self, phase: str, session: Session, took: Took) -> None:
        """Keep an answer, and perhaps its picture: each answer of the whole run is as likely to be kept."""
        for text in session.view.exceptions:
            self.exceptions.append(f"{session.page}?{session.view.query}: {text}")
        session.view.exceptions.clear()
        self.answers.setdefault(phase, {}).setdefault(session.page, []).append(took)
        if session.has_own_state:
            return
        self._counted += 1
        kept = self.samples_kept
        at = len(self.samples) if len(self.samples) < kept else self.draw.randrange(self._counted)
        if at < kept:
            picture = {path: drawn.delta for path, drawn in session.view.tree.items()}
            self.samples[at : at + 1] = [Sample(session.page, session.view.query, picture)]

    async def open(self, session: Session) -> bool:
        try:
            self.opened_s.append((await session.open()).first_s)
        except LOST as error:
            self.lost.append(f"opening {session.page}: {error!r}")
            return False
        return True

    async def act(self, phase: str, session: Session, *, is_first: bool) -> None:
        try:
            if (took := await self._change(session, is_first)) is not None:
                self.note(phase, session, took)
        except LOST as error:
            self.lost.append(f"{phase}, {session.page}?{session.view.query}: {error!r}")

    async def _change(self, session: Session, is_first: bool) -> Took | None:
        kind, section = self.draw.random(), SECTIONS[session.page]
        if is_first and SEED in session.view.widgets:
            change = self.unseen(session, [SEED])
        elif kind < PAGE_CHANGES:
            return await session.go(self.draw.choice([page for page in SECTIONS if page != session.page]))
        elif kind < PAGE_CHANGES + SECTION_CHANGES and section in session.view.widgets:
            change = section, session.view.widgets[section].other_value(self.draw)
        else:
            change = self.unseen(session, controls(session))
        return None if change is None else await session.change(*change)


def controls(session: Session) -> list[str]:
    return [key for key in session.view.widgets if key not in (SECTIONS[session.page], RUN_KEY)]


@asynccontextmanager
async def many(class_: Class, url: str, count: int) -> AsyncIterator[list[Session]]:
    """Sessions that all open at the same time, spread over the pages."""
    pages = list(SECTIONS)
    async with AsyncExitStack() as stack:
        one_each = [opened(url, pages[place % len(pages)]) for place in range(count)]
        sessions = [await stack.enter_async_context(one) for one in one_each]
        are_open = await asyncio.gather(*map(class_.open, sessions))
        yield [one for one, is_open in zip(sessions, are_open, strict=True) if is_open]


async def steady(class_: Class, sessions: list[Session], seconds: float) -> None:
    clock = asyncio.get_running_loop().time
    end = clock() + seconds

    async def live(session: Session) -> None:
        is_first = True
        while clock() < end:
            await asyncio.sleep(class_.draw.uniform(*THINK_S))
            await class_.act("steady", session, is_first=is_first)
            is_first = False

    await asyncio.gather(*map(live, sessions))


async def bursts(class_: Class, sessions: list[Session], times: int, pause_s: float) -> None:
    for number in range(times):
        await asyncio.gather(*(class_.act("burst", one, is_first=number == 0) for one in sessions))
        await asyncio.sleep(pause_s)


async def churn(class_: Class, url: str, count: int) -> None:
    """Sessions that open a page, change two controls, and vanish, some of them in the middle of an answer."""
    places, pages = asyncio.Semaphore(AT_ONCE), list(SECTIONS)

    async def visit(number: int) -> None:
        async with places, opened(url, pages[number % len(pages)]) as session:
            if not await class_.open(session):
                return
            for is_first in (True, False):
                await class_.act("churn", session, is_first=is_first)
            if number % 3 == 0 and (found := class_.unseen(session, controls(session))) is not None:
                leaving = asyncio.create_task(session.change(*found))
                await asyncio.sleep(0.01)
                leaving.cancel()

    await asyncio.gather(*map(visit, range(count)))
