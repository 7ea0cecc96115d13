"""Recorded timelines, timelines of this session, recorded quantizing kernels, and shared controls."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log2
from pathlib import Path
from typing import Any, Generic, TypeVar

from fp8core.linear import LayerShape
from kernels.layer.timeline.row import TIMELINES, Block, LayerRow, LeftOut, Timeline, TimelineJob, Way
from kernels.measure.jobs import LAYER
from kernels.measure.records import QUANTIZERS, BadLine, slug
from kernels.measure.rows import QuantizerRow
from kernels.paths import LAYER_RECORDS
from pages.kit.gemm import queue_panel as gpu_queue
from pages.kit.gemm import results as gemm_results
from pages.kit.origins import reread
from pages.kit.widgets import Choice, Select

SHOW = Choice(
    key="fused_show",
    label="Show",
    options={"timeline": "Timelines", "amax": "One pass or two", "kernels": "Kernels"},
)
TOKENS = Choice(
    key="fused_tokens",
    label="Tokens",
    options={"1024": "1,024", "4096": "4,096", "16384": "16,384"},
    default=str(LAYER.tokens),
    help="Rows of x: the tokens of all sequences that the layer sees at once.",
)
HERE = "here"
_ORDER = {way: place for place, way in enumerate(Way)}
T = TypeVar("T")


def layer_of(tokens: str) -> LayerShape:
    return replace(LAYER, tokens=int(tokens))


@dataclass(frozen=True, kw_only=True, eq=False)
class Recorded(Generic[T]):
    """The newest row of each kind by the GPU's slug, that with most kinds first; and the unreadable lines."""

    rows: Mapping[str, Sequence[T]]
    bad: tuple[BadLine, ...]


def _newest(records: Any, kind_of: Callable[[T], Hashable]) -> Recorded[T]:
    by_gpu: dict[str, dict[Hashable, T]] = {}
    for row in sorted(records.rows, key=lambda row: row.date):
        by_gpu.setdefault(slug(row.gpu), {})[kind_of(row)] = row
    most_first = sorted(by_gpu.items(), key=lambda one: -len(one[1]))
    return Recorded(rows={gpu: tuple(newest.values()) for gpu, newest in most_first}, bad=records.bad)


def _timelines(folder: Path) -> Recorded[LayerRow]:
    return _newest(TIMELINES.read(folder), lambda row: (*step(row.job), row.way))


def _quantizers(folder: Path) -> Recorded[QuantizerRow]:
    return _newest(QUANTIZERS.read(folder), lambda row: row.job)


def recorded() -> Recorded[LayerRow]:
    return reread(_timelines, LAYER_RECORDS)


def quantizers() -> Recorded[QuantizerRow]:
    return reread(_quantizers, gemm_results.RECORDS)


def source_control() -> Choice:
    every = (*recorded().rows.items(), *quantizers().rows.items())
    options = {gpu: rows[0].gpu for gpu, rows in every} | {HERE: "This server"}
    return Select(
        key="fused_gpu",
        label="Measured on",
        options=options,
        help="The GPU of the recorded timelines, or those that were measured here in this session.",
    )


def timelines(source: str, job: TimelineJob) -> list[LayerRow]:
    return in_order(row for row in _of_source(source) if step(row.job) == step(job))


def in_order(rows: Iterable[LayerRow]) -> list[LayerRow]:
    """The last row of each way, in the order of ways."""
    return sorted({row.way: row for row in rows}.values(), key=lambda row: _ORDER[row.way])


def others(source: str, job: TimelineJob) -> list[TimelineJob]:
    """The other jobs with rows, those of the same recipe first, then those of the nearest size."""

    def distance(one: TimelineJob) -> tuple[bool, bool, float]:
        return one.recipe != job.recipe, one.block != job.block, abs(log2(one.tokens / job.tokens))

    jobs = {row.job: None for row in _of_source(source) if step(row.job) != step(job)}
    return sorted(jobs, key=distance)


def left_out(source: str, job: TimelineJob) -> list[LeftOut]:
    mine = _here() if source == HERE else ()
    return next((list(one.left_out) for one in mine if step(one.job) == step(job)), [])


def step(job: TimelineJob) -> tuple[Block, str, int, int, int]:
    """A job without its number of rounds."""
    return job.block, job.recipe, job.tokens, job.in_, job.out


def _here() -> list[Timeline]:
    """The timelines of this session, the newest first."""
    return gpu_queue.session().rows_of(Timeline)


def _of_source(source: str) -> Sequence[LayerRow]:
    """The rows of a source, the newest last."""
    if source == HERE:
        return [row for timeline in reversed(_here()) for row in timeline.rows]
    return recorded().rows.get(source, ())
