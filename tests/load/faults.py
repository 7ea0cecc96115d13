"""Break workers and sessions while a class works: nobody else may notice. `make load LOAD="--phase faults"`.

The workers are stand-ins (stand_in_server.py), which do on order what a GPU does by accident. Students press
Run on Live GEMM again and again, each time with a shape that nobody had. Meanwhile the fault happens.
"""

import asyncio
import os
import random
import re
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count

import pyarrow.ipc
from rich.console import Console

from tests.asynchronous import complete
from tests.kernels.worker.stand_in import STAND_IN, Act
from tests.load.process import Usage, commands, usage
from tests.load.session import Session, opened
from tests.load.view import View
from tests.serving import Server, serving

PAGE = "live_gemm"
SHAPE, RUN_ON = "M × N × K", "run on"  # two columns of the first one's table of results
JOBS_A_SESSION = 6
SENTENCE = re.compile(r"^[^\n]+[.!]$")
PATH = re.compile(r"(?<![\w.])/\w+/\w|Traceback|\.py\b")


@dataclass
class Outcome:
    times: int = 0
    answers: int = 0
    wrong: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    waits_s: list[float] = field(default_factory=list)
    # What a session was told whose own job broke its worker
    culprits: list[str] = field(default_factory=list)
    may_be_told: int = 0  # jobs of students that may have been in a worker that was taken away
    culprits_due: int = 0
    left: Usage | None = None


@dataclass
class Class:
    server: Server
    students: int
    draw: random.Random
    now: Outcome = field(default_factory=Outcome)
    _shapes: Iterator[int] = field(default_factory=lambda: count(1))

    @property
    def pid(self) -> int:
        return self.server.process.pid

    def workers(self) -> list[int]:
        return [pid for pid, command in commands(self.pid).items() if STAND_IN.name in command]

    async def run(self, session: Session, act: Act) -> tuple[int, float]:
        """Ask for a shape that nobody had; its M, and the seconds until the page had settled."""
        m = next(self._shapes)
        await session.open(f"m={m}&n=64&k=64&seed={int(act)}")
        return m, (await session.press("run")).settled_s

    async def study(self) -> None:
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
    tables = [element.arrow_data.data for kind, element in view.elements() if kind == "dataframe"]
    rows = [row for table in tables for row in pyarrow.ipc.open_stream(table).read_all().to_pylist()]
    return [row[SHAPE] for row in rows if SHAPE in row and not row[RUN_ON].startswith("Recorded")]


def complaints(outcome: Outcome) -> list[str]:
    """What is wrong with an outcome; nothing where the fault stayed small."""
    found = [f"lost: {text}" for text in outcome.lost] + [f"wrong: {text}" for text in outcome.wrong]
    if len(outcome.told) > outcome.may_be_told:
        found.append(f"{len(outcome.told)} jobs of others ended, at most {outcome.may_be_told} may")
    if len(outcome.culprits) != outcome.culprits_due:
        found.append(f"{len(outcome.culprits)} of {outcome.culprits_due} were told what their job did")
    said = [*outcome.told, *outcome.culprits]
    return found + [f"no sentence: {text}" for text in said if not SENTENCE.match(text) or PATH.search(text)]


# A session that ended is given up after a second, so that what it held can be counted here
OPTIONS = ("--server.disconnectedSessionTTL", "1")
PATIENCE_S = 60.0
REST_S = 1.2
HARMLESS = {Act.FLOOD}


async def _signal(class_: Class, which: signal.Signals, times: int) -> None:
    """Send a signal to a process drawn by lot, each time after the class had another answer."""
    for _ in range(times):
        answers = class_.now.answers
        async with asyncio.timeout(PATIENCE_S):
            while class_.now.answers <= answers or not (alive := class_.workers()):
                await asyncio.sleep(0.05)
        with suppress(ProcessLookupError):
            os.kill(class_.draw.choice(alive), which)
        class_.now.times += 1
        class_.now.may_be_told += 1


async def _break(class_: Class, act: Act, times: int) -> None:
    async with opened(class_.server.url, PAGE) as session:
        for _ in range(times):
            m, _ = await class_.run(session, act)
            class_.now.culprits += [text for text in session.view.errors if f"{m} × 64 × 64" in text]
            class_.now.culprits_due += act not in HARMLESS
            class_.now.times += 1


async def _vanish(class_: Class, times: int) -> None:
    """Sessions that press Run and are gone before the answer."""
    for _ in range(times):
        async with opened(class_.server.url, PAGE) as session:
            leaving = asyncio.create_task(class_.run(session, Act.SLOW))
            await asyncio.sleep(class_.draw.uniform(0.05, 0.4))
            leaving.cancel()
        class_.now.times += 1


Fault = Callable[[Class, int], Awaitable[None]]
# Each fault by its name, and how often it happens
FAULTS: dict[str, tuple[Fault, int]] = {
    "a worker is killed": (lambda class_, times: _signal(class_, signal.SIGKILL, times), 50),
    "a worker is stopped": (lambda class_, times: _signal(class_, signal.SIGSTOP, times), 5),
    "a CUDA fault": (lambda class_, times: _break(class_, Act.RAISE, times), 5),
    "a wrong address": (lambda class_, times: _break(class_, Act.SEGFAULT, times), 5),
    "the GPU's memory is full": (lambda class_, times: _break(class_, Act.OUT_OF_MEMORY, times), 5),
    "the host's memory is full": (lambda class_, times: _break(class_, Act.KILLED, times), 5),
    "garbage in the pipe": (lambda class_, times: _break(class_, Act.GARBAGE, times), 5),
    "a flood on stderr": (lambda class_, times: _break(class_, Act.FLOOD, times), 5),
    "readers vanish": (_vanish, 30),
}


async def nothing(_class: Class, _times: int) -> None:
    await asyncio.sleep(0.5)


async def suffer(class_: Class, fault: Fault, times: int) -> Outcome:
    class_.now = outcome = Outcome()
    students = [asyncio.create_task(class_.study()) for _ in range(class_.students)]
    try:
        await fault(class_, times)
        done = outcome.answers
        async with asyncio.timeout(PATIENCE_S):  # the class goes on: each has one more answer
            while outcome.answers < done + class_.students:
                await asyncio.sleep(0.05)
    finally:
        for student in students:
            student.cancel()
        await asyncio.gather(*students, return_exceptions=True)
    return outcome


async def settle(class_: Class) -> Usage:
    """Wait until sessions that ended are given up; what the server holds then."""
    await asyncio.sleep(REST_S)
    async with opened(class_.server.url, PAGE) as session:
        await session.open()
    os.kill(class_.pid, signal.SIGUSR1)
    await asyncio.sleep(REST_S / 2)
    return usage(class_.pid)


async def all_faults(class_: Class, times: dict[str, int]) -> dict[str, Outcome]:
    outcomes = {"none": await suffer(class_, nothing, 0)}
    outcomes["none"].left = await settle(class_)
    for name, (fault, _) in FAULTS.items():
        if times.get(name):
            outcomes[name] = await suffer(class_, fault, times[name])
            outcomes[name].left = await settle(class_)
    return outcomes


def run(students: int, kills: int, seed: int, console: Console) -> list[str]:
    """All faults on a server of its own; what is wrong, a line each."""
    times = {name: max(1, often * kills // 50) for name, (_, often) in FAULTS.items()}
    with serving(*OPTIONS, module="tests.load.stand_in_server") as server:
        class_ = Class(server, students, random.Random(seed))
        outcomes = complete(all_faults(class_, times))
    for name, one in outcomes.items():
        longest = max(one.waits_s, default=0.0)
        console.print(f"{name}: {one.times} times, {one.answers} answers, after {longest:.1f} s; {one.left}")
    wrong = [f"{name}: {text}" for name, one in outcomes.items() for text in complaints(one)]
    console.print(*(wrong or ["every fault stayed small"]), sep="\n")
    return wrong
