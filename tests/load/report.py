"""What a run found, as a table for people and as data."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.load.process import Usage
from tests.load.students import Answer, Class

MS = 1e3


@dataclass
class Report:
    """One server's run. `usage` has its state before, after each phase, and at the end."""

    server: str
    class_: Class
    usage: dict[str, Usage] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    replayed: int = 0
    server_cpu_s: float = 0.0
    driver_cpu_s: float = 0.0
    wall_s: float = 0.0

    def data(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {
            "server": self.server,
            "answers": {phase: [asdict(one) for one in some] for phase, some in self.class_.answers.items()},
            "opened_s": self.class_.opened,
            "usage": {when: asdict(one) for when, one in self.usage.items()},
            "replayed": self.replayed,
            "wrong": self.wrong,
            "exceptions": self.class_.exceptions,
            "lost": self.class_.lost,
            "server_cpu_s": self.server_cpu_s,
            "driver_cpu_s": self.driver_cpu_s,
            "wall_s": self.wall_s,
        }


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that this share of the values does not exceed."""
    return sorted(values)[max(math.ceil(share * len(values)) - 1, 0)]


def show(report: Report, console: Console) -> None:
    """Print it."""
    console.rule(report.server)
    for phase, answers in report.class_.answers.items():
        console.print(_alone(answers) if phase == "alone" else _many(phase, answers))
    for phase, opened in report.class_.opened.items():
        console.print(f"{phase}: {len(opened)} opened a page, the slowest in {max(opened) * MS:,.0f} ms")
    if report.usage:
        console.print(_usage(report.usage))
    told = {"wrong answers": report.wrong, "exceptions": report.class_.exceptions, "lost": report.class_.lost}
    for name, lines in told.items():
        console.print(f"{name}: {len(lines)}", *lines[:5], sep="\n  ", markup=False)
    console.print(
        f"{report.replayed} answers asked again alone; {report.wall_s:.0f} s; of the processor, the "
        f"server took {report.server_cpu_s:.0f} s and this program {report.driver_cpu_s:.1f} s"
    )


def _places(answers: Iterable[Answer]) -> dict[tuple[str, str], list[Answer]]:
    found: dict[tuple[str, str], list[Answer]] = {}
    for answer in answers:
        found.setdefault((answer.page or "start", answer.section), []).append(answer)
    return found


def _ms(values: Sequence[float], shares: Sequence[float]) -> list[str]:
    return [f"{quantile(values, share) * MS:,.0f}" for share in shares]


def _alone(answers: list[Answer]) -> Table:
    """One session alone: the clock's time and the processor's, middle and worst."""
    table = Table(title="alone, ms: median and worst")
    for name in ("page", "section", "n"):
        table.add_column(name)
    for name in ("first", "worst", "settled", "worst", "CPU", "worst", "pool", "worst at"):
        table.add_column(name, justify="right")
    places = _places(answers) | {("all", ""): answers}
    for (page, section), some in places.items():
        slowest = max(some, key=lambda one: one.took.first_s)
        table.add_row(
            page,
            section,
            str(len(some)),
            *_ms([one.took.first_s for one in some], (0.5, 1)),
            *_ms([one.took.settled_s for one in some], (0.5, 1)),
            *_ms([one.cpu_s for one in some], (0.5, 1)),
            f"{statistics.median(one.pool_cpu_s for one in some) * MS:,.0f}",
            slowest.changed,
        )
    return table


def _many(phase: str, answers: list[Answer]) -> Table:
    """Many sessions: the clock's time of the middle one, of 95 in 100, and the longest."""
    table = Table(title=f"{phase}, ms: median, 95% within, longest")
    for name in ("page", "n"):
        table.add_column(name)
    for name in ("first", "95%", "longest", "settled", "95%", "longest"):
        table.add_column(name, justify="right")
    pages: dict[str, list[Answer]] = {}
    for (page, _), some in _places(answers).items():
        pages.setdefault(page, []).extend(some)
    for page, some in (pages | {"all": answers}).items():
        first, settled = [one.took.first_s for one in some], [one.took.settled_s for one in some]
        table.add_row(page, str(len(some)), *_ms(first, (0.5, 0.95, 1)), *_ms(settled, (0.5, 0.95, 1)))
    return table


def _usage(usage: dict[str, Usage]) -> Table:
    table = Table(title="the server")
    for name in ("after", "memory, MB", "descriptors", "threads", "processes", "their memory, MB"):
        table.add_column(name, justify="left" if name == "after" else "right")
    for when, held in usage.items():
        numbers = (held.descriptors, held.threads, held.processes)
        table.add_row(when, f"{held.rss_mb:.0f}", *map(str, numbers), f"{held.processes_rss_mb:.0f}")
    return table
