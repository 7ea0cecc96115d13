"""The recorded times of quantizing kernels: the newest row of each job, by GPU."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kernels.bench.lines import BadLine, slug
from kernels.bench.quantizers import QuantizerKernel, QuantizerRow, read_quantizers
from pages.kit.file_stamps import Stamp, stamps
from pages.kit.gemm import results as gemm_results
from pages.kit.origins import Measured, recorded_on, told, told_versions

Size = tuple[int, int]

_FOLDERS_KEPT = 2
_READING = threading.Lock()
"""Sessions that come first at the same time read the files once."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Recorded:
    """The newest row of each job by the GPU's slug, the GPUs' names, and the lines that cannot be read."""

    rows: Mapping[str, Sequence[QuantizerRow]]
    names: Mapping[str, str]
    bad: tuple[BadLine, ...]


@lru_cache(maxsize=_FOLDERS_KEPT)
def _read(folder: str, stamped: tuple[Stamp, ...]) -> Recorded:
    """The contents of the recorded files; the stamps change when a file does."""
    records = read_quantizers(Path(folder))
    by_gpu: dict[str, dict[object, QuantizerRow]] = {}
    for row in sorted(records.rows, key=lambda row: row.date):
        by_gpu.setdefault(slug(row.gpu), {})[row.job] = row
    return Recorded(
        rows={gpu: tuple(found.values()) for gpu, found in by_gpu.items()},
        names={gpu: next(iter(found.values())).gpu for gpu, found in by_gpu.items()},
        bad=records.bad,
    )


def recorded() -> Recorded:
    """Everything that is recorded of quantizers."""
    folder = str(gemm_results.RECORDS)
    with _READING:
        return _read(folder, stamps(folder))


def of_gpu(source: str) -> Sequence[QuantizerRow]:
    """The rows of the GPU with this slug; those of the first GPU where it has none."""
    rows = recorded().rows
    return rows.get(source) or next(iter(rows.values()), ())


def sizes(rows: Sequence[QuantizerRow], kernel: QuantizerKernel) -> list[Size]:
    """The sizes that a kernel was timed with, the largest first."""
    found = {(row.job.rows, row.job.columns) for row in rows if row.job.kernel is kernel}
    return sorted(found, key=lambda size: (-size[0] * size[1], size))


def of_size(rows: Sequence[QuantizerRow], kernel: QuantizerKernel, size: Size) -> list[QuantizerRow]:
    """The rows of a kernel and a size, in the order of the file."""
    return [row for row in rows if row.job.kernel is kernel and (row.job.rows, row.job.columns) == size]


def where(rows: Sequence[QuantizerRow]) -> str:
    """The machines, days, versions and commits of rows."""
    return told(map(_measured, rows))


def _measured(row: QuantizerRow) -> Measured:
    return Measured(
        place=recorded_on(row.gpu),
        date=row.date,
        versions=told_versions(row.versions),
        commit=row.commit or "",
    )
