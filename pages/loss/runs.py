"""The runs of the page, recorded or of this session, in groups that compare; and what others measured.

Runs compare where size, steps, text and GPU are equal: the learning rate follows the number of steps.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path

import streamlit as st

from fp8core.recipes import RECIPES
from kernels.bench.lines import BadLine
from kernels.paths import ASSETS, TRAIN
from kernels.train.job import BF16, TrainJob
from kernels.train.records import read_train
from kernels.train.row import Speed, TrainRow
from kernels.train.variants import VARIANTS
from pages.kit.controls import Controls
from pages.kit.gemm.queue_panel import session
from pages.kit.gemm.results import Origin
from pages.kit.inert import plain
from pages.kit.origins import Stamp, stamps
from pages.kit.sourced import Sourced
from pages.loss.controls import SIZE

Key = tuple[str, bool, bool]
"""What distinguishes the runs of a group but for the seed: the recipe, and the two switches."""


@dataclass(frozen=True, eq=False)
class Run:
    """A run with its origin."""

    row: TrainRow
    origin: Origin

    @property
    def key(self) -> Key:
        """The kind of run."""
        return key_of(self.row.job)

    @property
    def title(self) -> str:
        """The kind of run in words."""
        return title_of(self.row.job)

    def compares_with(self, group: "Group") -> bool:
        """True if the run belongs beside those of a group."""
        return _alike(self.row) == _alike(group.first)


@dataclass(frozen=True, kw_only=True, eq=False)
class Group:
    """Runs that may be compared."""

    runs: tuple[Run, ...]

    @property
    def first(self) -> TrainRow:
        """Any of the rows, for what they share."""
        return self.runs[0].row

    @property
    def steps(self) -> int:
        """The number of steps of a whole run."""
        return self.first.steps

    @cached_property
    def _by_key(self) -> Mapping[Key, tuple[Run, ...]]:
        by_key: dict[Key, list[Run]] = {}
        for run in sorted(self.runs, key=lambda run: run.row.job.seed):
            by_key.setdefault(run.key, []).append(run)
        return {key: tuple(runs) for key, runs in by_key.items()}

    def of(self, key: Key) -> tuple[Run, ...]:
        """The runs of one kind, in the order of their seeds."""
        return self._by_key.get(key, ())

    @cached_property
    def bf16(self) -> tuple[Run, ...]:
        """The whole runs of the reference."""
        return tuple(run for run in self.of(REFERENCE) if run.row.final is not None)

    @property
    def recipes(self) -> tuple[str, ...]:
        """The published recipes, in their order, with runs of all blocks and the head in bf16."""
        return tuple(name for name in RECIPES if (name, False, False) in self._by_key)


REFERENCE: Key = (BF16, False, False)


def key_of(job: TrainJob) -> Key:
    """The kind of run that a job asks for."""
    return job.recipe, job.last_bf16, job.head


def title_of(job: TrainJob) -> str:
    """The kind of run in words: that of a change is the change's."""
    variant = next((one for one in VARIANTS.values() if key_of(one.job) == key_of(job)), None)
    if variant is not None and (job.recipe not in RECIPES or job.head):
        return variant.title
    title = job.recipe_title
    title += ", last block bf16" if job.last_bf16 else ""
    return title + (", head too" if job.head else "")


@dataclass(frozen=True, kw_only=True, eq=False)
class Recorded:
    """Recorded runs, times of steps, lines that cannot be read. There is a new one once a file changes."""

    runs: tuple[Run, ...]
    bad: tuple[BadLine, ...]
    speeds: tuple[Speed, ...]


def recorded() -> Recorded:
    """Everything that is recorded. Of equal runs the newest counts."""
    return _read(str(TRAIN), stamps(str(TRAIN)))


@lru_cache(maxsize=2)
def _read(folder: str, changed: tuple[Stamp, ...]) -> Recorded:
    """Read the folder; `changed` is another one once a file changes."""
    records = read_train(Path(folder))
    newest = {(_alike(row), row.job): row for row in sorted(records.rows, key=lambda row: row.date)}
    speeds = {
        (one.machine.name, one.model, one.recipe): one
        for one in sorted(records.speeds, key=lambda one: one.date)
    }
    return Recorded(
        runs=tuple(Run(row, Origin.RECORDED) for row in newest.values()),
        bad=records.bad,
        speeds=tuple(speeds.values()),
    )


def speeds_of(size: str) -> list[Speed]:
    """The newest times of a step of this model: GPU by GPU, bf16 first, then recipes in their order."""
    order = {name: place for place, name in enumerate((BF16, *RECIPES))}
    mine = [one for one in recorded().speeds if one.model == size]
    return sorted(mine, key=lambda one: (one.machine.name, order.get(one.recipe, len(order))))


def here() -> list[Run]:
    """This session's runs, oldest first."""
    return [Run(row, Origin.HERE) for row in reversed(session().rows_of(TrainRow))]


def groups(extra: Iterable[Run] = ()) -> tuple[Group, ...]:
    """All groups, that with most runs first."""
    return _grouped((*recorded().runs, *extra))


@lru_cache(maxsize=8)
def _grouped(runs: tuple[Run, ...]) -> tuple[Group, ...]:
    alike: dict[object, list[Run]] = {}
    for run in runs:
        alike.setdefault(_alike(run.row), []).append(run)
    every = [Group(runs=tuple(each)) for each in alike.values()]
    return tuple(sorted(every, key=lambda group: -len(group.runs)))


def _alike(row: TrainRow) -> tuple[str, int, str, str]:
    return row.job.model, row.steps, row.text.sha256, row.machine.name


def group_of(size: str, among: Sequence[Group]) -> Group | None:
    """The group of a size with most runs; None where there is none."""
    return next((group for group in among if group.first.job.model == size), None)


FILE = ASSETS / "loss.toml"


@dataclass(frozen=True, kw_only=True)
class Published(Sourced):
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
        """The gap in % of the reference's loss; None where the source does not give that loss."""
        if self.percent is not None:
            return self.percent
        return 100 * self.nats / self.loss if self.nats is not None and self.loss else None

    @property
    def trained(self) -> str:
        """What was trained, against what, and how often."""
        runs = "" if self.runs is None else f"; {self.runs} run{'s' * (self.runs > 1)} of each"
        return f"{self.of}; against {self.against}{runs}"

    @property
    def gap_words(self) -> str:
        """The gap in words."""
        gap = self.gap_percent
        if gap is None:
            return f"+{self.nats:g} nats"
        return f"{'below ' if self.at_most else '+'}{gap:.2g}%"


@dataclass(frozen=True, kw_only=True)
class Noise(Sourced):
    """The standard deviation of equal runs that somebody measured."""

    of: str
    nats: float
    loss: float
    runs: int

    @property
    def percent(self) -> float:
        """In % of the loss."""
        return 100 * self.nats / self.loss


@dataclass(frozen=True, kw_only=True)
class AtScale(Sourced):
    """What was found for larger models about a change of a recipe."""

    variant: str
    found: str


@dataclass(frozen=True, kw_only=True)
class Contents:
    """The whole file; `at_scale` by the name of the change."""

    published: tuple[Published, ...]
    noise: tuple[Noise, ...]
    at_scale: dict[str, AtScale]


@cache
def sourced() -> Contents:
    """The file's contents. Raises TypeError for an entry with a field too many or too few."""
    contents = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return Contents(
        published=tuple(Published(**one) for one in contents["published"]),
        noise=tuple(Noise(**one) for one in contents["noise"]),
        at_scale={one["variant"]: AtScale(**one) for one in contents["at_scale"]},
    )


_BAD_SHOWN = 3


def group_here(controls: Controls) -> Group | None:
    """Draw the choice of the model, and return its group of runs, those of this session among them."""
    size = controls.draw(SIZE)
    if bad := recorded().bad:
        lines = "\n".join(f"- {plain(str(one))}." for one in bad[:_BAD_SHOWN])
        st.warning(f"These lines of the recorded runs cannot be read and are left out:\n\n{lines}")
    return group_of(size, groups(here()))
