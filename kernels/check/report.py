"""A check (CheckJob) and its result (Report): the machine, its abilities, a verdict a line; and their JSON.

Importing this needs neither torch nor a GPU.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from kernels.typed import Count, check_whole, to_data

FP8 = "fp8"

COPY, TORCH_BF16, TORCH_FP8 = "copy", "bf16 (torch.mm)", "fp8 (torch._scaled_mm)"
SHARE_OF_COPY = "share of a copy"
MAX_DEVICE = 1023
FORMAT = 1
"""Counted up where an old reader could no longer read the document."""

HEADLINES = {
    0: "FP8 works on this GPU",
    1: "Something is wrong here",
    2: "This machine cannot run FP8",
    130: "Not finished",
}


@dataclass(frozen=True, kw_only=True)
class CheckJob:
    """Check of one GPU; `quick` checks Fprop only.

    `device` counts the GPUs of the process: a worker has one, number 0.
    """

    quick: bool = False
    device: int = 0

    def __post_init__(self) -> None:
        check_whole(0, MAX_DEVICE, device=self.device)

    @property
    def title(self) -> str:
        of = f" of GPU {self.device}" if self.device else ""
        return f"{'Quick sanity' if self.quick else 'Sanity'} check{of}"

    @property
    def size(self) -> str:
        return "a quick check" if self.quick else "a full check"

    @property
    def size_advice(self) -> str:
        return "Free memory on the GPU (no check is smaller)"


@dataclass(frozen=True, kw_only=True)
class Facts:
    """One GPU and the software around it; a field is None, or empty, where unknown.

    - torch_error, triton_error: why an import failed. gpu_error: why a GPU that torch counts did not open.
    - cuda, hip: versions that torch was built for. gpus: those that torch can use; seen_gpus: nvidia-smi's.
    - clock_mhz, power_w: at rest. The maximum and the limits are settings.
    """

    system: str
    python: str
    torch: str | None = None
    torch_error: str = ""
    triton: str | None = None
    triton_error: str = ""
    cuda: str | None = None
    hip: str | None = None
    driver: str | None = None
    seen_gpus: Count | None = None
    gpus: Count = 0
    gpu: str | None = None
    gpu_error: str = ""
    architecture: str = ""
    interpreted: bool = False
    capability: tuple[Count, Count] | None = None
    sms: Count = 0
    memory_bytes: Count = 0
    free_bytes: Count = 0
    clock_mhz: float | None = None
    max_clock_mhz: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    default_power_limit_w: float | None = None

    @property
    def versions(self) -> dict[str, str]:
        named = {"python": self.python, "torch": self.torch, "triton": self.triton}
        return {name: version for name, version in named.items() if version}


class Verdict(Enum):
    PASS = "pass"
    FAIL = "fail"
    SLOW = "slow"
    NOT_SUPPORTED = "not supported"
    NOT_RUN = "not run"


class Group(Enum):
    SETUP = "setup", "Is everything installed?"
    CASTS = "casts", "Does every cast give the right code?"
    QUANTIZERS = "quantizers", "Do the quantizers give the codes and scales of the reference?"
    GEMMS = "gemms", "Is the error of every product within its bound?"
    ACCUMULATOR = "accumulator", "Does the tensor core give the bits that its model predicts?"
    DETERMINISM = "determinism", "Does the same input give the same bits every time?"
    SPEED = "speed", "How fast is it?"

    title: str

    def __new__(cls, value: str, title: str) -> "Group":
        group = object.__new__(cls)
        group._value_, group.title = value, title
        return group


@dataclass(frozen=True)
class Figure:
    name: str
    value: float
    unit: str = ""


@dataclass(frozen=True, kw_only=True)
class Reference:
    value: float
    gpu: str
    date: str
    versions: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Line:
    """One thing checked. `name` is unique in its group; `detail` is a sentence.

    A line of speed has its rate as first figure, and as `reference` the record of this GPU model, if there is
    one.
    """

    name: str
    group: Group
    verdict: Verdict
    detail: str
    figures: tuple[Figure, ...] = ()
    reference: Reference | None = None

    @classmethod
    def of_comparison(
        cls, group: Group, name: str, detail: str, compared: int, different: int, *, what: str = "compared"
    ) -> "Line":
        """The line of a comparison, which fails where anything differs."""
        verdict = Verdict.FAIL if different else Verdict.PASS
        figures = (Figure(what, float(compared)), Figure("different", float(different)))
        return cls(name=name, group=group, verdict=verdict, detail=detail, figures=figures)

    @property
    def share(self) -> float | None:
        if self.reference is None or not self.figures or not self.reference.value:
            return None
        return self.figures[0].value / self.reference.value


@dataclass(frozen=True, kw_only=True)
class Ability:
    name: str
    title: str
    available: bool
    reason: str


@dataclass(frozen=True, kw_only=True)
class Report:
    """One check of one GPU. `started`: UTC, ISO 8601; `phases`: where its `seconds` went.

    `finished` is False while it runs, and after it was stopped. Lines not reached yet are NOT_RUN.
    """

    job: CheckJob
    facts: Facts
    abilities: tuple[Ability, ...]
    lines: tuple[Line, ...]
    started: str
    seconds: float
    finished: bool
    phases: tuple[str, ...] = ()

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
        return sum(line.verdict is verdict for line in self.lines)

    def of_group(self, group: Group) -> tuple[Line, ...]:
        return tuple(line for line in self.lines if line.group is group)

    @property
    def summary(self) -> str:
        counts = ", ".join(f"{n} {verdict.value}" for verdict in Verdict if (n := self.count(verdict)))
        return f"{self.headline}: {counts}."

    @property
    def headline(self) -> str:
        return HEADLINES[self.exit_code]


def document(reports: Sequence[Report]) -> str:
    """The JSON of reports, each with its exit code. Figures without a value are left out."""
    data = [to_data(report) | {"exit_code": report.exit_code} for report in reports]
    content = {"format": FORMAT, "reports": data}
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
