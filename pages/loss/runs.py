"""Training runs, recorded or of this session, in groups that compare; and published figures.

Runs compare if size, steps, text and GPU are equal: the learning rate follows the steps.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path

from fp8core.recipes import RECIPES
from kernels.measure.records import BadLine
from kernels.measure.rows import Provenance
from kernels.paths import ASSETS, TRAIN
from kernels.train.job import BF16, TrainJob
from kernels.train.row import RUNS, SPEEDS, Speed, TrainRow, read_emulated
from kernels.train.variants import VARIANTS
from pages.kit.charts.words import short
from pages.kit.controls import Controls
from pages.kit.gemm.queue_panel import session
from pages.kit.gemm.results import draw_left_out
from pages.kit.inert import plain
from pages.kit.origins import Sourced, reread, span, versions_words
from pages.loss.controls import SIZE

# The kind of a run: the recipe, and the switches "last block in bf16" and "quantize the head".
Key = tuple[str, bool, bool]
REFERENCE: Key = (BF16, False, False)
NOTHING = (
    "No run of this model is recorded here yet. `python -m kernels.train --record` records runs on a GPU, "
    "and “Train one” trains here."
)
FEW = "A band needs at least two recorded runs of bf16 of this model, so nothing is compared yet."


@dataclass(frozen=True, eq=False)
class Run:
    row: TrainRow
    is_here: bool

    @property
    def key(self) -> Key:
        return key_of(self.row.job)

    @property
    def title(self) -> str:
        job = self.row.job
        variant = next((one for one in VARIANTS.values() if key_of(one.job) == self.key), None)
        if variant is not None and (job.recipe not in RECIPES or job.head):
            return variant.title
        return job.recipe_title + ", last block bf16" * job.last_bf16 + ", head too" * job.head

    def compares_with(self, group: "Group") -> bool:
        return _conditions(self.row) == _conditions(group.first)


@dataclass(frozen=True, kw_only=True, eq=False)
class Group:
    runs: tuple[Run, ...]

    @property
    def first(self) -> TrainRow:
        return self.runs[0].row

    @cached_property
    def _by_key(self) -> Mapping[Key, tuple[Run, ...]]:
        by_key: dict[Key, list[Run]] = {}
        for run in sorted(self.runs, key=lambda run: run.row.job.seed):
            by_key.setdefault(run.key, []).append(run)
        return {key: tuple(runs) for key, runs in by_key.items()}

    def of(self, key: Key) -> tuple[Run, ...]:
        """The runs of one kind, by seed."""
        return self._by_key.get(key, ())

    @cached_property
    def bf16(self) -> tuple[Run, ...]:
        return tuple(run for run in self.of(REFERENCE) if run.row.final is not None)

    @property
    def recipes(self) -> tuple[str, ...]:
        """Published recipes with runs of a quantized last block and a head in bf16."""
        return tuple(name for name in RECIPES if (name, False, False) in self._by_key)

    @property
    def origin(self) -> str:
        row = self.first
        dates, versions = span(run.row.date for run in self.runs), versions_words(row.machine.versions)
        machine = ", ".join([row.machine.name, dates, *versions])
        seconds = f", {row.steps * row.step_ms / 1e3:.0f} s of steps" if row.step_ms else ""
        return (
            f"Recorded on {plain(machine)}: {row.steps:,} steps of "
            f"{row.job.size_data.bytes_per_step:,} bytes{seconds}; sources of {plain(row.text.name)} "
            f"{plain(row.text.version)}, {row.text.held_out_files} whole files held out."
        )


def key_of(job: TrainJob) -> Key:
    return job.recipe, job.last_bf16, job.head


@dataclass(frozen=True, kw_only=True, eq=False)
class Records:
    runs: tuple[Run, ...]
    bad: tuple[BadLine, ...]
    speeds: tuple[Speed, ...]


def records() -> Records:
    """All records, read anew once a file changes. Of equal runs the newest counts."""
    return reread(_read, TRAIN)


def _read(folder: Path) -> Records:
    content, of_speeds = RUNS.read(folder), SPEEDS.read(folder)
    rows = sorted(content.rows, key=lambda row: row.date)
    speeds = sorted(of_speeds.rows, key=lambda speed: speed.date)
    return Records(
        runs=tuple(
            Run(row, is_here=False) for row in {(_conditions(row), row.job): row for row in rows}.values()
        ),
        bad=(*content.bad, *of_speeds.bad),
        speeds=tuple({(one.machine.name, one.model, one.recipe): one for one in speeds}.values()),
    )


def speeds_of(size: str) -> list[Speed]:
    """Times of a step: GPU by GPU, bf16 first, then recipes in their order."""
    order = [BF16, *RECIPES]

    def place(one: Speed) -> tuple[str, int]:
        return one.machine.name, order.index(one.recipe) if one.recipe in order else len(order)

    return sorted((one for one in records().speeds if one.model == size), key=place)


def groups(extra: Iterable[Run] = ()) -> tuple[Group, ...]:
    return _groups((*records().runs, *extra))


@lru_cache(maxsize=8)
def _groups(runs: tuple[Run, ...]) -> tuple[Group, ...]:
    by_conditions: dict[object, list[Run]] = {}
    for run in runs:
        by_conditions.setdefault(_conditions(run.row), []).append(run)
    every = [Group(runs=tuple(each)) for each in by_conditions.values()]
    return tuple(sorted(every, key=lambda group: -len(group.runs)))


def _conditions(row: TrainRow) -> tuple[str, int, str, str]:
    return row.job.model, row.steps, row.text.sha256, row.machine.name


def bf16_on_cpu(row: TrainRow) -> Run | None:
    """The recorded run of bf16 beside a run on a CPU; with the same seed, if there is one."""
    if row.provenance is Provenance.GPU:
        return None
    like = [one for one in _runs_on_cpu() if _conditions(one.row) == _conditions(row)]
    return next((one for one in like if one.row.job.seed == row.job.seed), like[0] if like else None)


@cache
def _runs_on_cpu() -> tuple[Run, ...]:
    return tuple(Run(row, is_here=False) for row in read_emulated())


def group_of(size: str, extra: Iterable[Run] = ()) -> Group | None:
    """The group of a size with most runs."""
    return next((group for group in groups(extra) if group.first.job.model == size), None)


def group_here(controls: Controls) -> Group | None:
    """Draw the choice of the model and return its runs, recorded and of this session."""
    size = controls.draw(SIZE)
    draw_left_out(records().bad)
    return group_of(size, [Run(row, is_here=True) for row in reversed(session().rows_of(TrainRow))])


@dataclass(frozen=True, kw_only=True)
class PublishedGap(Sourced):
    """A gap of the loss that somebody measured for some of our recipes."""

    recipes: list[str]
    of: str
    against: str
    percent: float | None = None
    nats: float | None = None
    loss: float | None = None
    at_most: bool = False
    runs: int | None = None

    @property
    def gap_percent(self) -> float | None:
        """The gap in % of the reference's loss, if the source gives that loss."""
        if self.percent is not None:
            return self.percent
        return 100 * self.nats / self.loss if self.nats is not None and self.loss else None

    @property
    def setup(self) -> str:
        runs = "" if self.runs is None else f"; {self.runs} run{'s' * (self.runs > 1)} of each"
        return f"{self.of}; against {self.against}{runs}"

    @property
    def gap_words(self) -> str:
        gap = self.gap_percent
        if gap is None:
            return f"+{self.nats:g} nats"
        return f"{'below ' if self.at_most else '+'}{short(gap, 2)}%"


@dataclass(frozen=True, kw_only=True)
class Noise(Sourced):
    """A standard deviation of equal runs that somebody measured."""

    of: str
    nats: float
    loss: float
    runs: int

    @property
    def percent(self) -> float:
        return 100 * self.nats / self.loss


@dataclass(frozen=True, kw_only=True)
class AtScale(Sourced):
    """A change of a recipe: the reason for its effect, the page that explains it, a finding at scale."""

    variant: str
    page: str
    reason: str
    found: str


@dataclass(frozen=True, kw_only=True)
class Literature:
    published: tuple[PublishedGap, ...]
    noise: tuple[Noise, ...]
    at_scale: dict[str, AtScale]  # by the name of the change


@cache
def literature() -> Literature:
    """Published figures. Raises TypeError for an entry with a field too many or too few."""
    contents = tomllib.loads((ASSETS / "loss.toml").read_text(encoding="utf-8"))
    return Literature(
        published=tuple(PublishedGap(**one) for one in contents["published"]),
        noise=tuple(Noise(**one) for one in contents["noise"]),
        at_scale={one["variant"]: AtScale(**one) for one in contents["at_scale"]},
    )
