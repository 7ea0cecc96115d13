"""The phases of a run: one session alone, many that think, many at once, and many that come and go."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from websockets.exceptions import WebSocketException

from tests.load.process import cpu_s, descendants
from tests.load.session import Session, opened
from tests.load.students import SECTIONS, SEED, THINK_S, Class, act, controls

BURSTS = 3
HEAVY_PAGE = "live_gemm"
AFTER_S = 0.03
"""What a server does after an answer, such as tidying up, belongs to that answer."""
LOST = (TimeoutError, OSError, WebSocketException)


async def alone(
    class_: Class, url: str, pid: int | None, pages: list[str], changes: int, only: str = ""
) -> None:
    """One session, which visits every section of every page and changes its controls."""
    for page in pages:
        async with opened(url, page) as session:
            class_.opened.setdefault("alone", []).append((await session.open()).first_s)
            shown = session.view.widgets.get(SECTIONS[page])
            for section in shown.choices if shown is not None else [""]:
                if only not in ("", section):
                    continue
                if shown is not None and session.view.widgets[shown.key].value != [section]:
                    await session.change(shown.key, [section])
                await _in_section(class_, session, pid, changes)


async def _in_section(class_: Class, session: Session, pid: int | None, changes: int) -> None:
    for number in range(changes):
        keys = [SEED] if number == 0 and SEED in session.view.widgets else controls(session)
        if (found := class_.unseen(session, keys)) is None:
            return
        children = descendants(pid) if pid is not None else []
        before, pool_before = _spent(pid), sum(map(cpu_s, children))
        took = await session.change(*found)
        await asyncio.sleep(AFTER_S)
        cost = {"cpu_s": _spent(pid) - before, "pool_cpu_s": sum(map(cpu_s, children)) - pool_before}
        class_.note("alone", session, found[0], took, **cost)


def _spent(pid: int | None) -> float:
    return cpu_s(pid) if pid is not None else 0.0


@asynccontextmanager
async def many(
    class_: Class, phase: str, url: str, pages: list[str], count: int
) -> AsyncIterator[list[Session]]:
    """Sessions that all open at the same time, spread over the pages."""
    async with AsyncExitStack() as stack:
        made = [opened(url, pages[place % len(pages)]) for place in range(count)]
        sessions = [await stack.enter_async_context(one) for one in made]
        took = await asyncio.gather(*(_open(class_, one) for one in sessions))
        class_.opened.setdefault(phase, []).extend(found for found in took if found is not None)
        yield [one for one, found in zip(sessions, took, strict=True) if found is not None]


async def _open(class_: Class, session: Session) -> float | None:
    try:
        return (await session.open()).first_s
    except LOST as error:
        class_.lost.append(f"opening {session.page}: {error!r}")
        return None


async def steady(
    class_: Class, phase: str, sessions: list[Session], pages: list[str], seconds: float
) -> None:
    """Each thinks, acts, and thinks again, until the time is over."""
    clock = asyncio.get_running_loop().time
    end = clock() + seconds

    async def live(session: Session) -> None:
        is_first = True
        while clock() < end:
            await asyncio.sleep(class_.draw.uniform(*THINK_S))
            await _act(class_, phase, session, pages, is_first=is_first)
            is_first = False

    await asyncio.gather(*map(live, sessions))


async def bursts(
    class_: Class, phase: str, sessions: list[Session], pages: list[str], pause_s: float
) -> None:
    """All act at the same moment, a few times."""
    for number in range(BURSTS):
        acts = (_act(class_, phase, one, pages, is_first=number == 0) for one in sessions)
        await asyncio.gather(*acts)
        await asyncio.sleep(pause_s)


async def churn(class_: Class, url: str, pages: list[str], count: int, at_once: int) -> None:
    """Sessions that open a page, change two controls, and vanish, some of them in the middle of an answer."""
    places = asyncio.Semaphore(at_once)

    async def visit(number: int) -> None:
        async with places, opened(url, pages[number % len(pages)]) as session:
            if await _open(class_, session) is None:
                return
            for is_first in (True, False):
                await _act(class_, "churn", session, pages, is_first=is_first)
            if number % 3 == 0 and (found := class_.unseen(session, controls(session))) is not None:
                leaving = asyncio.create_task(session.change(*found))
                await asyncio.sleep(0.01)
                leaving.cancel()

    await asyncio.gather(*map(visit, range(count)))


@asynccontextmanager
async def heavy(class_: Class, url: str, query: str) -> AsyncIterator[None]:
    """Meanwhile, one session presses Run on Live GEMM again and again, each time with another seed."""

    async def press() -> None:
        async with opened(url, HEAVY_PAGE) as session:
            for seed in itertools.count(1):
                await session.open(f"{query}&{SEED}={seed}")
                class_.note("heavy", session, "run", await session.press("run"))

    pressing = asyncio.create_task(press()) if query else None
    try:
        yield
    finally:
        if pressing is not None:
            if pressing.done():
                class_.lost.append(f"the heavy session ended: {pressing.exception()!r}")
            pressing.cancel()


async def _act(class_: Class, phase: str, session: Session, pages: list[str], *, is_first: bool) -> None:
    try:
        await act(class_, phase, session, pages, is_first=is_first)
    except LOST as error:
        class_.lost.append(f"{phase}, {session.page}?{session.view.query}: {error!r}")
