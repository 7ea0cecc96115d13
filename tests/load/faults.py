"""Break workers and sessions while a class works: nobody else may notice.

    make faults                                                 # every fault, 50 killed workers
    python -m tests.load.faults --kills 5 --students 3

The server is the real one with its pages and its queue; the workers are stand-ins (stand_in_server.py), which
do on order what a GPU does by accident. Students press Run on Live GEMM again and again, each time with a
shape that nobody had. Meanwhile the fault happens. Then the table says, fault by fault:

    answers     results that came to students; "wrong" ones are of another shape
    told        jobs that were lost in the middle, with a sentence that says how
    lost        jobs without a result or a sentence: there must be none
    longest     the longest wait of a student
    what is left: the server's memory, descriptors and processes
"""

import argparse
import asyncio
import os
import random
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from tests.asynchronous import complete
from tests.kernels.worker.alive import is_alive, is_gone
from tests.kernels.worker.stand_in import Act
from tests.load.faulty_class import PAGE, Class, Outcome, complaints
from tests.load.process import Usage, descendants, usage
from tests.load.session import opened
from tests.serving import serving

OPTIONS = ("--server.disconnectedSessionTTL", "1")
"""A session that ended is given up after a second, so that what it held can be counted here."""
PATIENCE_S = 60.0
REST_S = 1.2
HARMLESS = {Act.FLOOD}

Processes = Callable[[Class], list[int]]
Study = Callable[[Class], Awaitable[None]]


async def _signal(class_: Class, which: signal.Signals, processes: Processes, times: int) -> None:
    """Send a signal to a process drawn by lot, each time after the class had another answer."""
    for _ in range(times):
        answers = class_.now.answers
        async with asyncio.timeout(PATIENCE_S):
            while class_.now.answers <= answers or not (alive := processes(class_)):
                await asyncio.sleep(0.05)
        with suppress(ProcessLookupError):
            os.kill(class_.draw.choice(alive), which)
        class_.now.times += 1
        class_.now.may_be_told += 1


async def _break(class_: Class, act: Act, times: int) -> None:
    """One session whose own job breaks the worker."""
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


@dataclass(frozen=True)
class Fault:
    """Something that breaks, how often it does so, and what the students do meanwhile."""

    happens: Callable[[Class, int], Awaitable[None]]
    often: int = 5
    study: Study = Class.study


def _signaled(which: signal.Signals, processes: Processes, often: int, study: Study = Class.study) -> Fault:
    return Fault(lambda class_, times: _signal(class_, which, processes, times), often, study)


def _broken_by(act: Act) -> Fault:
    return Fault(lambda class_, times: _break(class_, act, times))


FAULTS = {
    "a worker is killed": _signaled(signal.SIGKILL, Class.workers, 50),
    "a worker is stopped": _signaled(signal.SIGSTOP, Class.workers, 5),
    "a CUDA fault": _broken_by(Act.RAISE),
    "a wrong address": _broken_by(Act.SEGFAULT),
    "the GPU's memory is full": _broken_by(Act.OUT_OF_MEMORY),
    "the host's memory is full": _broken_by(Act.KILLED),
    "garbage in the pipe": _broken_by(Act.GARBAGE),
    "a flood on stderr": _broken_by(Act.FLOOD),
    "a computing process is killed": _signaled(signal.SIGKILL, Class.computing, 10, Class.add_up),
    "readers vanish": Fault(_vanish, 30),
}
"""Each fault by its name."""
NOTHING = Fault(lambda class_, times: asyncio.sleep(0.5))


async def suffer(class_: Class, fault: Fault, times: int) -> Outcome:
    """One fault while the students work; what they saw."""
    class_.now = outcome = Outcome()
    students = [asyncio.create_task(fault.study(class_)) for _ in range(class_.students)]
    try:
        await fault.happens(class_, times)
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
    """Every fault in turn; the first row is a class without one."""
    outcomes = {"none": await suffer(class_, NOTHING, 0)}
    outcomes["none"].left = await settle(class_)
    for name, fault in FAULTS.items():
        if times.get(name):
            outcomes[name] = await suffer(class_, fault, times[name])
            outcomes[name].left = await settle(class_)
    return outcomes


def kill_the_server(class_: Class) -> list[int]:
    """Kill the server while jobs run; the processes that it leaves behind."""

    async def begin() -> list[int]:
        async with opened(class_.server.url, PAGE) as session:
            running = asyncio.create_task(class_.run(session, Act.HANG))
            async with asyncio.timeout(PATIENCE_S):
                while not session.view.is_pending:
                    await asyncio.sleep(0.05)
            children = descendants(class_.pid)
            running.cancel()
            return children

    children = complete(begin())
    assert children, "the server had started processes"
    class_.server.process.kill()
    class_.server.process.wait()
    return [pid for pid in children if not is_gone(pid) and is_alive(pid)]


def table(outcomes: dict[str, Outcome]) -> Table:
    made = Table(title="faults, while a class works")
    made.add_column("fault")
    for name in ("times", "answers", "wrong", "told", "lost", "longest, s", "MB", "descriptors", "processes"):
        made.add_column(name, justify="right")
    for name, one in outcomes.items():
        assert one.left is not None, "the server was looked at after the fault"
        counts = (one.times, one.answers, len(one.wrong), len(one.told), len(one.lost))
        left = (f"{one.left.rss_mb:.0f}", str(one.left.descriptors), str(one.left.processes))
        made.add_row(name, *map(str, counts), f"{max(one.waits_s, default=0):.1f}", *left)
    return made


def run(students: int, times: dict[str, int], seed: int) -> tuple[dict[str, Outcome], list[int]]:
    """All faults on a server of its own, which is killed at the end; the processes that it left behind."""
    with serving(*OPTIONS, module="tests.load.stand_in_server") as server:
        class_ = Class(server, students, random.Random(seed))
        outcomes = complete(all_faults(class_, times))
        return outcomes, kill_the_server(class_)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--kills", type=int, default=50, help="workers to kill; other faults a tenth as often"
    )
    parser.add_argument("--students", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    for name in ("kills", "students"):
        if getattr(given, name) < 1:
            parser.error(f"--{name} is a whole number from 1, got {getattr(given, name)}")
    times = {name: max(1, fault.often * given.kills // 50) for name, fault in FAULTS.items()}
    began = time.monotonic()
    outcomes, behind = run(given.students, times, given.seed)
    console = Console(width=None if sys.stdout.isatty() else 130)
    console.print(table(outcomes))
    told = [f"{name}: {text}" for name, one in outcomes.items() for text in complaints(one)]
    told += [f"process {pid} outlived the killed server" for pid in behind]
    console.print(*(told or ["every fault stayed small; the killed server left no process behind"]), sep="\n")
    console.print(f"{time.monotonic() - began:.0f} s")
    return int(bool(told))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
