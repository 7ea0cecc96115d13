"""The lines of a check of everything, kept in a file as they come, so that a later run goes on from there."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from kernels.check.facts import Facts
from kernels.check.job import CheckJob
from kernels.check.probe_machine import host
from kernels.check.report import Group, Line, Report, Verdict
from kernels.files import append_line
from kernels.typed import Count, from_data, to_data


@dataclass(frozen=True, kw_only=True)
class Kept:
    """One line of the file: what was found with which seed on which GPU ("" in the interpreter), and when."""

    gpu: str
    seed: Count
    date: str
    line: Line


@dataclass
class KeptLines:
    """The file of one seed. `keep` appends the lines of a report that are new."""

    path: Path
    seed: int
    _known: set[tuple[Group, str]] = field(default_factory=set)

    def so_far(self, job: CheckJob, gpu: str) -> Report:
        """The lines that were kept of this seed and GPU, as a report that is to go on.

        Raises ValueError for a file that holds something else, OSError where it cannot be read.
        """
        lines = tuple(kept.line for kept in self._read() if (kept.gpu, kept.seed) == (gpu, self.seed))
        self._known = {(line.group, line.name) for line in lines}
        return Report(
            job=job, facts=host(), abilities=(), lines=lines, started=_now(), seconds=0.0, finished=False
        )

    def keep(self, report: Report) -> None:
        """Append each line that has come to a verdict and is not there yet."""
        for line in report.lines:
            place = line.group, line.name
            if line.group is Group.SETUP or line.verdict is Verdict.NOT_RUN or place in self._known:
                continue
            kept = Kept(gpu=gpu_of(report.facts), seed=self.seed, date=_now(), line=line)
            append_line(self.path, json.dumps(to_data(kept), ensure_ascii=False).encode())
            self._known.add(place)

    def _read(self) -> list[Kept]:
        if not self.path.exists():
            return []
        found = []
        for number, text in enumerate(self.path.read_text(encoding="utf-8").splitlines(), 1):
            try:
                data = json.loads(text)
            except json.JSONDecodeError:  # cut off: its case runs again
                continue
            try:
                found.append(from_data(Kept, data))
            except ValueError as error:
                raise ValueError(f"{self.path}, line {number} is no line of this check: {error}") from error
        return found


def gpu_of(facts: Facts) -> str:
    """The name of the GPU that is checked; empty where there is none."""
    return facts.gpu or ""


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
