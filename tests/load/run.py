"""Measure the app as a class uses it: sessions that change real controls to values nobody had before.

    make load                                                       # every phase, on this checkout
    python -m tests.load.run --phase alone --page accumulation      # one page, one session
    python -m tests.load.run --phase alone --page accumulation --section "Error against K"
    python -m tests.load.run --phase alone --tree ../old --tree .   # an older checkout and this one
    python -m tests.load.run --phase steady --sessions 30 --seconds 60
    python -m tests.load.run --phase steady --url http://localhost:8501 --pid 4711     # a server that runs
    python -m tests.load.run --phase steady --heavy "recipe=mxfp8&m=8192&n=8192&k=8192"      # with a GPU
    python -m tests.load.run --phase churn --visits 100 --json found.json

Phases: `alone` (clock and processor of one session, section by section), `steady` (sessions that think 1.5
to 4.5 s between two changes), `burst` (all at once, three times), `double` (`steady` with twice as many),
`churn` (sessions that come and go). Pages are named by their addresses; the first page is `start`.

"First" is the time to the end of the run that answers; "settled" the time until no progress bar, spinner or
skeleton is left on the page. "CPU" is what the server's process spent, "pool" what the processes spent that
it has started. At the end, answers drawn by lot are asked for again, each by one session alone on a fresh
server: one that differs is a wrong answer. The program ends with 1 where there was a wrong answer, an
exception or a lost one.
"""

import argparse
import asyncio
import json
import random
import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from pages.kit.server.first_reader import FIRST_READER
from tests.asynchronous import complete
from tests.load import phases
from tests.load.process import cpu_s, usage
from tests.load.replay import wrong_answers
from tests.load.report import Report, show
from tests.load.students import SECTIONS, Class
from tests.serving import TOP, serving

PHASES = ("alone", "steady", "burst", "double", "churn")
BESIDE = ("steady", "burst", "double")
"""The phases beside which a heavy job runs, where one is named."""
FIRST = "start"
REST_S, QUIET_TIMES = 0.5, 5
AT_ONCE = 12
"""Sessions that are there at the same time while sessions come and go."""


@dataclass(frozen=True)
class Plan:
    """What to do with a server."""

    phases: tuple[str, ...] = PHASES
    pages: tuple[str, ...] = tuple(SECTIONS)
    sessions: int = 30
    seconds: float = 60.0
    changes: int = 8
    pause_s: float = 3.0
    """Between two bursts."""
    section: str = ""
    heavy: str = ""
    """The address's query of a job that one more session runs on Live GEMM, again and again."""
    visits: int = 120
    samples: int = 60
    is_read_first: bool = True
    """Let the server's own first reader open every page before the sessions come."""
    seed: int = 1


async def load(plan: Plan, url: str, pid: int | None, name: str) -> Report:
    """Every phase of the plan, on one server."""
    class_ = Class(random.Random(plan.seed), plan.samples)
    report = Report(name, class_)
    if pid is not None:
        await at_rest(pid)
    start, cpu = time.perf_counter(), time.process_time()
    _note(report, "the start", pid)
    for phase in plan.phases:
        async with phases.heavy(class_, url, plan.heavy if phase in BESIDE else ""):
            await _phase(phase, plan, report, url, pid)
        _note(report, phase, pid)
    report.server_cpu_s = cpu_s(pid) if pid is not None else 0.0
    report.wall_s, report.driver_cpu_s = time.perf_counter() - start, time.process_time() - cpu
    return report


async def at_rest(pid: int) -> None:
    """Wait until the server has done what it does when it starts: it is quiet for a while."""
    quiet, spent = 0, cpu_s(pid)
    while quiet < QUIET_TIMES:
        await asyncio.sleep(REST_S)
        before, spent = spent, cpu_s(pid)
        quiet = quiet + 1 if spent - before < 0.1 * REST_S else 0


async def _phase(phase: str, plan: Plan, report: Report, url: str, pid: int | None) -> None:
    class_, pages = report.class_, list(plan.pages)
    match phase:
        case "alone":
            await phases.alone(class_, url, pid, pages, plan.changes, plan.section)
        case "churn":
            await phases.churn(class_, url, pages, plan.visits, AT_ONCE)
        case _:
            count = plan.sessions * (2 if phase == "double" else 1)
            named = f"{phase} {count}"
            async with phases.many(class_, named, url, pages, count) as sessions:
                _note(report, f"{named} opened", pid)
                if phase == "burst":
                    await phases.bursts(class_, named, sessions, pages, plan.pause_s)
                else:
                    await phases.steady(class_, named, sessions, pages, plan.seconds)


def _note(report: Report, when: str, pid: int | None) -> None:
    if pid is not None:
        report.usage[when] = usage(pid)


def run(plan: Plan, tree: Path, url: str | None = None, pid: int | None = None) -> Report:
    """The plan on the server of a checkout, or on one that runs; then the answers again, alone."""
    environment = {FIRST_READER: "yes" if plan.is_read_first else "no"}
    with serving(tree=tree, environment=environment) if url is None else nullcontext() as server:
        address, process = (server.url, server.process.pid) if url is None else (url, pid)
        report = complete(load(plan, address, process, url or str(tree)))
    samples = report.class_.samples
    if samples:
        with serving(tree=tree) if url is None else nullcontext() as server:
            report.wrong = complete(wrong_answers(server.url if url is None else url, samples))
    report.replayed = len(samples)
    return report


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    named = [page or FIRST for page in SECTIONS]
    parser.add_argument("--phase", action="append", choices=PHASES, help="one or more; all without it")
    parser.add_argument("--page", action="append", choices=named, help="one or more; all without it")
    parser.add_argument("--section", default="", help="only the section with this label; for `alone`")
    parser.add_argument("--heavy", default="", help="a job that runs meanwhile: m=8192&n=8192&k=8192")
    parser.add_argument("--tree", action="append", type=Path, help="a checkout to start; this one without it")
    parser.add_argument("--url", help="a server that runs already")
    parser.add_argument("--pid", type=int, help="its process, on this computer")
    parser.add_argument("--json", type=Path, help="a file for all that was found")
    for name in ("sessions", "changes", "visits", "samples", "seed"):
        parser.add_argument(f"--{name}", type=int, default=getattr(Plan, name))
    parser.add_argument("--seconds", type=float, default=Plan.seconds)
    given = parser.parse_args(arguments)
    for name in ("sessions", "changes", "visits", "samples", "seconds"):
        if not getattr(given, name) > 0:
            parser.error(f"--{name} is above 0, got {getattr(given, name)}")
    plan = Plan(
        phases=tuple(given.phase or PHASES),
        section=given.section,
        heavy=given.heavy,
        pages=tuple("" if page == FIRST else page for page in given.page or named),
        **{
            name: getattr(given, name)
            for name in ("sessions", "seconds", "changes", "visits", "samples", "seed")
        },
    )
    console = Console(width=None if sys.stdout.isatty() else 130)
    reports = []
    for tree in given.tree or [TOP]:
        reports.append(run(plan, tree.resolve(), given.url, given.pid))
        show(reports[-1], console)
    if given.json:
        given.json.write_text(json.dumps([report.data() for report in reports]), encoding="utf-8")
    return int(any(one.wrong or one.class_.exceptions or one.class_.lost for one in reports))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
