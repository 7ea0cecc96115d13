"""The timelines of the page: recorded ones, and those that this session measured on this server's GPU."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from kernels.bench.lines import BadLine, slug
from kernels.layer.timeline.job import Block, TimelineJob, Way
from kernels.layer.timeline.records import read_timelines
from kernels.layer.timeline.row import LayerRow, LeftOut, Timeline
from kernels.paths import LAYER_RECORDS
from pages.fused import quantizers
from pages.kit.file_stamps import Stamp, stamps
from pages.kit.gemm import queue_panel as gpu_queue
from pages.kit.origins import Measured, recorded_on, told_versions
from pages.kit.widgets import Choice, ChoiceStyle

HERE = "here"
_FOLDERS_KEPT = 2
_READING = threading.Lock()
"""Sessions that come first at the same time read the files once."""
_ORDER = {way: place for place, way in enumerate(Way)}


@dataclass(frozen=True, eq=False)
class Shown:
    """A row with its origin. What is said of it is worked out once."""

    row: LayerRow
    is_here: bool

    @cached_property
    def measured(self) -> Measured:
        """The machine, the day, the versions and the commit."""
        row, gpu = self.row, self.row.machine.name
        return Measured(
            place=f"GPU: {gpu}" if self.is_here else recorded_on(gpu),
            date=row.date,
            versions=told_versions(row.machine.versions),
            commit=row.commit or "",
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Recorded:
    """The recorded files: the newest row of each way by the GPU's slug, and the lines that cannot be read."""

    rows: Mapping[str, Sequence[Shown]]
    names: Mapping[str, str]
    bad: tuple[BadLine, ...]


@lru_cache(maxsize=_FOLDERS_KEPT)
def _read(folder: str, stamped: tuple[Stamp, ...]) -> _Recorded:
    """The contents of the recorded files; the stamps change when a file does."""
    records = read_timelines(Path(folder))
    by_gpu: dict[str, list[Shown]] = {}
    for row in sorted(records.rows, key=lambda row: row.date):
        by_gpu.setdefault(slug(row.machine.name), []).append(Shown(row, is_here=False))
    most_first = sorted(by_gpu, key=lambda gpu: -len(by_gpu[gpu]))
    return _Recorded(
        rows={gpu: _in_order(found) for gpu, found in by_gpu.items()},
        names={gpu: by_gpu[gpu][0].row.machine.name for gpu in most_first},
        bad=records.bad,
    )


def _recorded() -> _Recorded:
    with _READING:
        return _read(str(LAYER_RECORDS), stamps(str(LAYER_RECORDS)))


def bad_lines() -> tuple[BadLine, ...]:
    """The lines of the recorded files that cannot be read."""
    return _recorded().bad


def source_control() -> Choice:
    """The choice of a GPU whose recorded rows are shown, or of this server."""
    options = {**_recorded().names, **quantizers.recorded().names, HERE: "This server"}
    return Choice(
        key="fused_gpu",
        label="Measured on",
        options=options,
        default=next(iter(options)),
        style=ChoiceStyle.SELECT,
        help="The GPU of the recorded timelines, or those that were measured here in this session.",
    )


def timelines(source: str, job: TimelineJob) -> list[Shown]:
    """The newest row of each way of a job from a value of the source control, in the order of ways."""
    return [one for one in _of_source(source) if same(one.row.job, job)]


def others(source: str, job: TimelineJob) -> list[TimelineJob]:
    """The other jobs with rows from a source: those of the recipe first, then those nearest in tokens."""
    jobs = {one.row.job: None for one in _of_source(source)}
    found = [one for one in jobs if not same(one, job)]
    return sorted(found, key=lambda one: (one.recipe != job.recipe, one.block != job.block, one.tokens))


def so_far(timeline: Timeline) -> list[Shown]:
    """The rows of a running job."""
    return _in_order(Shown(row, is_here=True) for row in timeline.rows)


def left_out(source: str, job: TimelineJob) -> list[LeftOut]:
    """The ways of a job that this session could not time."""
    if source != HERE:
        return []
    mine = [one for one in gpu_queue.session().rows_of(Timeline) if same(one.job, job)]
    return list(mine[0].left_out) if mine else []


def same(one: TimelineJob, other: TimelineJob) -> bool:
    """True if two jobs time the same step; the number of rounds does not count."""
    return _what(one) == _what(other)


def _what(job: TimelineJob) -> tuple[Block, str, int, int, int]:
    return job.block, job.recipe, job.tokens, job.in_, job.out


def _of_source(source: str) -> Sequence[Shown]:
    if source == HERE:
        mine = reversed(gpu_queue.session().rows_of(Timeline))
        return _in_order(Shown(row, is_here=True) for timeline in mine for row in timeline.rows)
    return _recorded().rows.get(source, ())


def _in_order(found: Iterable[Shown]) -> list[Shown]:
    """The last row of each way of each job."""
    newest = {(*_what(one.row.job), one.row.way): one for one in found}
    return sorted(newest.values(), key=lambda one: _ORDER[one.row.way])
