"""The findings of a check (Report): the machine, its abilities, and a verdict a line.

Plain data that travels as JSON (kernels.check.schema). Importing this needs neither torch nor a GPU.
"""

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum

from kernels.check.facts import Facts
from kernels.check.job import CheckJob

FP8 = "fp8"
"""The ability without which there is nothing to check."""


HEADLINES = {
    0: "FP8 works on this GPU",
    1: "Something is wrong here",
    2: "This machine cannot run FP8",
    130: "Not finished",
}
"""The verdict on a GPU in a few words, by exit code."""


class Verdict(Enum):
    """The result of a line; a table shows the value."""

    PASS = "pass"
    FAIL = "fail"
    SLOW = "slow"
    NOT_SUPPORTED = "not supported"
    NOT_RUN = "not run"


class Group(Enum):
    """The subject of a line, in the order of a report."""

    SETUP = "setup"
    CASTS = "casts"
    QUANTIZERS = "quantizers"
    GEMMS = "gemms"
    ACCUMULATOR = "accumulator"
    DETERMINISM = "determinism"
    SPEED = "speed"

    @property
    def title(self) -> str:
        """The question that the group's lines answer."""
        return _TITLES[self]


_TITLES = {
    Group.SETUP: "Is everything installed?",
    Group.CASTS: "Does every cast give the right code?",
    Group.QUANTIZERS: "Do the quantizers give the codes and scales of the reference?",
    Group.GEMMS: "Is the error of every product within its bound?",
    Group.ACCUMULATOR: "Does the tensor core give the bits that its model predicts?",
    Group.DETERMINISM: "Does the same input give the same bits every time?",
    Group.SPEED: "How fast is it?",
}


@dataclass(frozen=True)
class Figure:
    """One number of a line, with its unit ("" where it has none)."""

    name: str
    value: float
    unit: str = ""


@dataclass(frozen=True, kw_only=True)
class Reference:
    """The recorded speed of this GPU model, in the unit of the line's first figure."""

    value: float
    gpu: str
    date: str
    versions: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Line:
    """One thing checked. `name` is unique in its group.

    `detail` is a sentence for the reader: what was compared, or why nothing was. The first figure of a line
    of speed is its rate. `reference` is None where no measurement of this GPU model is recorded.
    """

    name: str
    group: Group
    verdict: Verdict
    detail: str
    figures: tuple[Figure, ...] = ()
    reference: Reference | None = None

    @property
    def share(self) -> float | None:
        """The first figure as a fraction of the recorded one."""
        if self.reference is None or not self.figures or not self.reference.value:
            return None
        return self.figures[0].value / self.reference.value


@dataclass(frozen=True, kw_only=True)
class Ability:
    """Something a GPU can do, or why it cannot, in a sentence. `name` is a key, `title` the field's term."""

    name: str
    title: str
    available: bool
    reason: str


@dataclass(frozen=True, kw_only=True)
class Report:
    """One check of one GPU. `started` is UTC, ISO 8601; `seconds` is how long it has run.

    `finished` is False while it runs, and after it was stopped. Lines not reached yet are NOT_RUN.
    """

    job: CheckJob
    facts: Facts
    abilities: tuple[Ability, ...]
    lines: tuple[Line, ...]
    started: str
    seconds: float
    finished: bool

    @property
    def exit_code(self) -> int:
        """0 all well (a slow line is no failure), 1 a line failed or could not be run, 2 no FP8 here, 130
        stopped.
        """
        verdicts = {line.verdict for line in self.lines}
        if not self.finished:
            return 130
        if Verdict.FAIL in verdicts:
            return 1
        if not any(ability.available for ability in self.abilities if ability.name == FP8):
            return 2
        return int(Verdict.NOT_RUN in verdicts)

    def count(self, verdict: Verdict) -> int:
        """The number of lines with this verdict."""
        return Counter(line.verdict for line in self.lines)[verdict]

    def of_group(self, group: Group) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.group is group)

    @property
    def summary(self) -> str:
        """The verdict on the GPU, in a sentence."""
        counts = ", ".join(f"{n} {verdict.value}" for verdict in Verdict if (n := self.count(verdict)))
        return f"{self.headline}: {counts}."

    @property
    def headline(self) -> str:
        """The verdict on the GPU, in a few words."""
        return HEADLINES[self.exit_code]
