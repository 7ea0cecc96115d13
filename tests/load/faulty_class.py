"""A class that works while things break, and what its students see.

outcome = Outcome()                                   # what they see from now on
class_ = Class(server, students=8, draw=random.Random(1), now=outcome)
await class_.study()                                  # what one student does, without an end
assert complaints(outcome) == []
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

import pyarrow.ipc

from tests.kernels.worker.stand_in import STAND_IN, Act
from tests.load.process import PROC, Usage, descendants
from tests.load.session import Session, opened
from tests.load.view import View
from tests.serving import Server

PAGE, SUMS_PAGE = "live_gemm", "accumulation"
SHAPE, RUN_ON = "M × N × K", "run on"
"""Two columns of the first one's table of results."""
SUMS = "sum_show=curves&longest_k=1024"
POOL = "popen_loky"
"""What the command of a computing process has in it."""
JOBS_A_SESSION = 6
SENTENCE = re.compile(r"^[^\n]+[.!]$")
PATH = re.compile(r"(?<![\w.])/\w+/\w|Traceback|\.py\b")


@dataclass
class Outcome:
    """What students saw while one fault happened."""

    times: int = 0
    answers: int = 0
    wrong: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    waits_s: list[float] = field(default_factory=list)
    culprits: list[str] = field(default_factory=list)
    """What a session was told whose own job broke its worker."""
    may_be_told: int = 0
    """Jobs of students that may have been in a worker that was taken away."""
    culprits_due: int = 0
    left: Usage | None = None


@dataclass
class Class:
    """A server, its students, and the fault of the moment."""

    server: Server
    students: int
    draw: random.Random
    now: Outcome = field(default_factory=Outcome)
    _shapes: Iterator[int] = field(default_factory=lambda: count(1))

    @property
    def pid(self) -> int:
        return self.server.process.pid

    def workers(self) -> list[int]:
        """The GPU workers that are alive."""
        return [pid for pid in descendants(self.pid) if STAND_IN.name in _command(pid)]

    def computing(self) -> list[int]:
        """The processes that compute for pages."""
        return [pid for pid in descendants(self.pid) if POOL in _command(pid)]

    async def run(self, session: Session, act: Act) -> tuple[int, float]:
        """Ask for a shape that nobody had; its M, and the seconds until the page had settled."""
        m = next(self._shapes)
        await session.open(f"m={m}&n=64&k=64&seed={int(act)}")
        return m, (await session.press("run")).settled_s

    async def study(self) -> None:
        """What one student does until the fault is over."""
        while True:
            async with opened(self.server.url, PAGE) as session:
                asked: list[int] = []
                for _ in range(JOBS_A_SESSION):
                    act = self.draw.choice([Act.FINE, Act.SLOW])
                    try:
                        m, wait_s = await self.run(session, act)
                    except (TimeoutError, ConnectionError, KeyError) as error:
                        self.now.lost.append(repr(error))
                        break
                    asked.append(m)
                    self.now.waits_s.append(wait_s)
                    self._look(session.view, asked)

    async def add_up(self) -> None:
        """What a student does who lets the computing processes work, until the fault is over."""
        while True:
            async with opened(self.server.url, SUMS_PAGE) as session:
                for _ in range(JOBS_A_SESSION):
                    query = f"{SUMS}&seed={next(self._shapes)}"
                    try:
                        self.now.waits_s.append((await session.open(query)).settled_s)
                    except (TimeoutError, ConnectionError) as error:
                        self.now.lost.append(repr(error))
                        break
                    kinds = {kind for kind, _ in session.view.elements()}
                    if "vega_lite_chart" in kinds and not session.view.errors:
                        self.now.answers += 1
                    elif session.view.errors:
                        self.now.told += session.view.errors
                    else:
                        self.now.lost.append(f"{query}: {session.view.exceptions}")

    def _look(self, view: View, asked: list[int]) -> None:
        """Note what the newest of a student's jobs came to."""
        shape, found = f"{asked[-1]} × 64 × 64", measured(view)
        self.now.wrong += [other for other in found if other not in {f"{m} × 64 × 64" for m in asked}]
        if found[:1] == [shape]:
            self.now.answers += 1
        elif told := [text for text in view.errors if shape in text]:
            self.now.told += told
        else:
            self.now.lost.append(f"{shape}: {view.errors} {view.exceptions}")


def measured(view: View) -> list[str]:
    """The shapes that this session has measured, newest first, as the page's table lists them."""
    tables = [element.arrow_data.data for kind, element in view.elements() if kind == "dataframe"]
    rows = [row for table in tables for row in pyarrow.ipc.open_stream(table).read_all().to_pylist()]
    return [row[SHAPE] for row in rows if SHAPE in row and not row[RUN_ON].startswith("Recorded")]


def _command(pid: int) -> str:
    try:
        return (PROC / str(pid) / "cmdline").read_text()
    except OSError:
        return ""


def complaints(outcome: Outcome) -> list[str]:
    """What is wrong with an outcome; nothing where the fault stayed small."""
    found = [f"lost: {text}" for text in outcome.lost] + [f"wrong: {text}" for text in outcome.wrong]
    if len(outcome.told) > outcome.may_be_told:
        found.append(f"{len(outcome.told)} jobs of others ended, at most {outcome.may_be_told} may")
    if len(outcome.culprits) != outcome.culprits_due:
        found.append(f"{len(outcome.culprits)} of {outcome.culprits_due} were told what their job did")
    said = [*outcome.told, *outcome.culprits]
    return found + [f"no sentence: {text}" for text in said if not SENTENCE.match(text) or PATH.search(text)]
