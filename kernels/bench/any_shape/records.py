"""Recorded draws: any_shape/<gpu>.jsonl in a folder of records, a drawn GEMM a line."""

import json
from dataclasses import dataclass
from pathlib import Path

from kernels.bench.any_shape.row import AnyShapeRow
from kernels.bench.ceilings.limits import Impossible, datasheet_limits
from kernels.bench.lines import BadLine, read_lines, slug
from kernels.files import append_line
from kernels.typed import to_data

_FOLDER = "any_shape"


@dataclass(frozen=True, kw_only=True)
class AnyShapeRecords:
    """The drawn GEMMs of every GPU, in the order of the files, and the lines that cannot be read."""

    rows: tuple[AnyShapeRow, ...]
    bad: tuple[BadLine, ...]


def any_shape_path(folder: Path, gpu: str) -> Path:
    """The file of a GPU in a folder of records."""
    return folder / _FOLDER / f"{slug(gpu)}.jsonl"


def read_any_shape(folder: Path) -> AnyShapeRecords:
    """The recorded draws of every GPU; none where the folder does not exist."""
    rows, bad = read_lines((folder / _FOLDER).glob("*.jsonl"), AnyShapeRow, _possible)
    return AnyShapeRecords(rows=tuple(rows), bad=tuple(bad))


def record_any_shape(row: AnyShapeRow, folder: Path) -> Path:
    """Append a drawn GEMM to its GPU's file in a folder of records, and return the file's path.

    Raises Impossible for a time that its GPU cannot reach, and OSError where the disk refuses it.
    """
    path = any_shape_path(folder, row.gpu)
    append_line(path, json.dumps(to_data(_possible(row)), ensure_ascii=False).encode())
    return path


def _possible(row: AnyShapeRow) -> AnyShapeRow:
    """The row itself. Raises Impossible for one that is faster than its GPU's datasheet."""
    limits = datasheet_limits(row.gpu)
    for name, time_us in (("ours", row.ours_us), (row.peer, row.peer_us)):
        fault = limits.fault(row.flop / time_us / 1e6)
        if fault:
            raise Impossible(f"{name}: {fault}")
    return row
