"""Use the app as a class does, and break its workers meanwhile.

    make load                                              # every phase
    make load LOAD="--phase steady --sessions 60"          # one of them, with twice as many
    make load LOAD="--phase faults --kills 10 --seed 2"

Phases:
    burst       sessions on every page change a control at the same moment, three times
    steady      sessions that think 1.5 to 4.5 s between two changes
    churn       sessions that come and go
    faults      workers are killed, stopped and broken while students press Run (tests/load/faults.py)

"First" is the time to the end of the run that answers; "settled" the time until no progress bar, spinner or
skeleton is left on the page. At the end, answers drawn by lot are asked for again, each by one session alone
on a fresh server: one that differs is a wrong answer. The program ends with 1 where an answer is wrong or
lost, a page shows an exception, or others notice a fault.

The processor's cost of single changes, section by section: python -m tests.pages.every_page.budget
"""

import argparse
import asyncio
import math
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from pages.kit.server.lifespan import FIRST_READER
from tests.asynchronous import complete
from tests.load import faults
from tests.load.process import Usage, cpu_s, usage
from tests.load.replay import wrong_answers
from tests.load.session import Took
from tests.load.students import Class, bursts, churn, many, steady
from tests.serving import serving

PHASES = ("burst", "steady", "churn", "faults")
REST_S, QUIET_TIMES = 0.5, 5
MS = 1e3


@dataclass(frozen=True)
class Plan:
    phases: tuple[str, ...] = PHASES[:-1]
    sessions: int = 30
    seconds: float = 60.0
    bursts: int = 3
    pause_s: float = 3.0  # between two of them
    visits: int = 120
    samples: int = 60
    is_read_first: bool = True  # let the server's own first reader open every page before the sessions come
    seed: int = 1


@dataclass
class Report:
    """One server's run. `usage` has its state at the start, once all are there, and after each phase."""

    class_: Class
    usage: dict[str, Usage] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    @property
    def complaints(self) -> dict[str, list[str]]:
        return {"wrong answers": self.wrong, "exceptions": self.class_.exceptions, "lost": self.class_.lost}


def run(plan: Plan) -> Report:
    with serving(environment={FIRST_READER: "yes" if plan.is_read_first else "no"}) as server:
        report = complete(_load(plan, server.url, server.process.pid))
    with serving() as server:
        report.wrong = complete(wrong_answers(server.url, report.class_.samples))
    return report


async def _load(plan: Plan, url: str, pid: int) -> Report:
    class_ = Class(random.Random(plan.seed), plan.samples)
    report = Report(class_)
    await at_rest(pid)
    report.usage["start"] = usage(pid)
    for phase in plan.phases:
        if phase == "churn":
            await churn(class_, url, plan.visits)
        else:
            async with many(class_, url, plan.sessions) as sessions:
                report.usage[f"{phase} opened"] = usage(pid)
                if phase == "burst":
                    await bursts(class_, sessions, plan.bursts, plan.pause_s)
                else:
                    await steady(class_, sessions, plan.seconds)
        report.usage[phase] = usage(pid)
    return report


async def at_rest(pid: int) -> None:
    """Wait until the server has done what it does when it starts: it is quiet for a while."""
    quiet, spent = 0, cpu_s(pid)
    while quiet < QUIET_TIMES:
        await asyncio.sleep(REST_S)
        before, spent = spent, cpu_s(pid)
        quiet = quiet + 1 if spent - before < 0.1 * REST_S else 0


def show(report: Report, console: Console) -> None:
    for phase, pages in report.class_.answers.items():
        console.print(_times(phase, pages))
    slowest = max(report.class_.opened_s, default=0.0)
    console.print(f"{len(report.class_.opened_s)} opened a page, the slowest in {slowest * MS:,.0f} ms")
    for phase, used in report.usage.items():
        console.print(f"after {phase}: {used}")
    for name, lines in report.complaints.items():
        console.print(f"{name}: {len(lines)}", *lines[:5], sep="\n  ", markup=False)
    console.print(f"{len(report.class_.samples)} answers asked again alone")


def _times(phase: str, pages: dict[str, list[Took]]) -> Table:
    table = Table(title=f"{phase}, ms: median, 95% within, longest")
    for name in ("page", "n", "first", "95%", "longest", "settled", "95%", "longest"):
        table.add_column(name, justify="left" if name == "page" else "right")
    every = [one for answers in pages.values() for one in answers]
    for page, answers in (pages | {"all": every}).items():
        first, settled = [one.first_s for one in answers], [one.settled_s for one in answers]
        table.add_row(page or "start", str(len(answers)), *_spread_ms(first), *_spread_ms(settled))
    return table


def _spread_ms(seconds: Sequence[float]) -> list[str]:
    ordered = sorted(seconds)
    at = [max(math.ceil(share * len(ordered)) - 1, 0) for share in (0.5, 0.95, 1)]
    return [f"{ordered[place] * MS:,.0f}" for place in at]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--phase", action="append", choices=PHASES, help="one or more; all without it")
    parser.add_argument("--sessions", type=int, default=Plan.sessions)
    parser.add_argument("--seed", type=int, default=Plan.seed)
    parser.add_argument("--seconds", type=float, default=Plan.seconds, help="of the steady phase")
    parser.add_argument("--kills", type=int, default=50, help="of workers; other faults a tenth as often")
    parser.add_argument("--students", type=int, default=8, help="of the phase with faults")
    given = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 130)
    phases, complaints = given.phase or PHASES, []
    if used := tuple(phase for phase in phases if phase != "faults"):
        report = run(Plan(phases=used, sessions=given.sessions, seconds=given.seconds, seed=given.seed))
        show(report, console)
        complaints += [line for lines in report.complaints.values() for line in lines]
    if "faults" in phases:
        complaints += faults.run(given.students, given.kills, given.seed, console)
    return int(bool(complaints))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
