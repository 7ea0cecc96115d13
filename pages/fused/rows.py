"""Recorded timelines, timelines of this session, recorded quantizing kernels, and shared controls."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Generic, TypeVar

from fp8core.linear import LayerShape
from kernels.layer.timeline.row import Block, LayerRow, LeftOut, Timeline, TimelineJob, Way, read_timelines
from kernels.measure.jobs import LAYER
from kernels.measure.records import QUANTIZERS, BadLine, slug
from kernels.measure.rows import QuantizerRow
from kernels.paths import LAYER_RECORDS
from pages.kit.gemm import queue_panel as gpu_queue
from pages.kit.gemm import results as gemm_results
from pages.kit.origins import RowOrigin, Stamp, origins_words, recorded_on, row_origin, stamps
from pages.kit.widgets import Choice, ChoiceStyle

SHOW = Choice(
    key="fused_show",
    label="Show",
    options={"timeline": "Timelines", "amax": "One pass or two", "kernels": "Kernels"},
    default="timeline",
)
TOKENS = Choice(
    key="fused_tokens",
    label="Tokens",
    options={"1024": "1,024", "4096": "4,096", "16384": "16,384"},
    default=str(LAYER.tokens),
    help="Rows of x: the tokens of all sequences that the layer sees at once.",
)
HERE = "here"
_READING = threading.Lock()  # sessions that open the page at the same time read the files once
_ORDER = {way: place for place, way in enumerate(Way)}
T = TypeVar("T")


def layer_of(tokens: str) -> LayerShape:
    return replace(LAYER, tokens=int(tokens))


@dataclass(frozen=True, eq=False)
class WayRow:
    row: LayerRow
    is_here: bool

    @cached_property
    def origin(self) -> RowOrigin:
        machine = self.row.machine
        place = f"GPU: {machine.name}" if self.is_here else recorded_on(machine.name)
        return row_origin(self.row, place, machine.versions)


@dataclass(frozen=True, kw_only=True, eq=False)
class Recorded(Generic[T]):
    """The newest row of each kind by the GPU's slug, and the unreadable lines."""

    rows: Mapping[str, Sequence[T]]
    bad: tuple[BadLine, ...]


def _by_gpu(rows: Iterable[T]) -> dict[str, list[T]]:
    of_gpu: dict[str, list[T]] = {}
    for row in sorted(rows, key=lambda row: row.date):
        of_gpu.setdefault(slug(row.gpu), []).append(row)
    return of_gpu


@lru_cache(maxsize=2)
def _read_timelines(folder: str, version: tuple[Stamp, ...]) -> Recorded[WayRow]:
    records = read_timelines(Path(folder))
    of_gpu = dict(sorted(_by_gpu(records.rows).items(), key=lambda one: -len(one[1])))
    ways = {gpu: _in_order(WayRow(row, is_here=False) for row in rows) for gpu, rows in of_gpu.items()}
    return Recorded(rows=ways, bad=records.bad)


@lru_cache(maxsize=2)
def _read_quantizers(folder: str, version: tuple[Stamp, ...]) -> Recorded[QuantizerRow]:
    records = QUANTIZERS.read(Path(folder))
    of_gpu = _by_gpu(records.rows)
    newest = {gpu: tuple({row.job: row for row in rows}.values()) for gpu, rows in of_gpu.items()}
    return Recorded(rows=newest, bad=records.bad)


def _read(read: Callable[[str, tuple[Stamp, ...]], Recorded[T]], folder: Path) -> Recorded[T]:
    with _READING:
        return read(str(folder), stamps(str(folder)))


def recorded() -> Recorded[WayRow]:
    return _read(_read_timelines, LAYER_RECORDS)


def quantizers() -> Recorded[QuantizerRow]:
    return _read(_read_quantizers, gemm_results.RECORDS)


def source_control() -> Choice:
    options = {gpu: every[0].row.gpu for gpu, every in recorded().rows.items()}
    options |= {gpu: every[0].gpu for gpu, every in quantizers().rows.items()}
    options[HERE] = "This server"
    return Choice(
        key="fused_gpu",
        label="Measured on",
        options=options,
        default=next(iter(options)),
        style=ChoiceStyle.SELECT,
        help="The GPU of the recorded timelines, or those that were measured here in this session.",
    )


def timelines(source: str, job: TimelineJob) -> list[WayRow]:
    """The newest row of each way of a job, in the order of ways."""
    return [one for one in _of_source(source) if step(one.row.job) == step(job)]


def others(source: str, job: TimelineJob) -> list[TimelineJob]:
    """The other jobs with rows, those of the same recipe first."""
    jobs = {one.row.job: None for one in _of_source(source) if step(one.row.job) != step(job)}
    return sorted(jobs, key=lambda one: (one.recipe != job.recipe, one.block != job.block, one.tokens))


def so_far(timeline: Timeline) -> list[WayRow]:
    return _in_order(WayRow(row, is_here=True) for row in timeline.rows)


def left_out(source: str, job: TimelineJob) -> list[LeftOut]:
    if source != HERE:
        return []
    mine = [one for one in gpu_queue.session().rows_of(Timeline) if step(one.job) == step(job)]
    return list(mine[0].left_out) if mine else []


def step(job: TimelineJob) -> tuple[Block, str, int, int, int]:
    """A job without its number of rounds."""
    return job.block, job.recipe, job.tokens, job.in_, job.out


def _of_source(source: str) -> Sequence[WayRow]:
    if source == HERE:
        mine = reversed(gpu_queue.session().rows_of(Timeline))
        return _in_order(WayRow(row, is_here=True) for timeline in mine for row in timeline.rows)
    return recorded().rows.get(source, ())


def _in_order(rows: Iterable[WayRow]) -> list[WayRow]:
    newest = {(*step(one.row.job), one.row.way): one for one in rows}
    return sorted(newest.values(), key=lambda one: _ORDER[one.row.way])


def origins(rows: Iterable[QuantizerRow]) -> str:
    return origins_words(row_origin(row, recorded_on(row.gpu), row.machine.versions) for row in rows)
