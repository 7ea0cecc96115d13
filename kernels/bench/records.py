"""Recorded measurements of a folder: rows in <gpu>.jsonl, that GPU's ceilings in ceilings/<gpu>.jsonl, its
random draws in any_shape/<gpu>.jsonl.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from kernels.bench.any_shape import AnyShapeRow, read_any_shape
from kernels.bench.ceilings import Ceilings
from kernels.bench.ceilings.limits import Impossible, datasheet_limits, measured_fault
from kernels.bench.lines import BadLine, read_lines, slug
from kernels.bench.row import Row
from kernels.device import Unsupported
from kernels.files import append_line
from kernels.typed import to_data

_CEILINGS = "ceilings"

Measured = TypeVar("Measured", Row, Ceilings)


@dataclass(frozen=True, kw_only=True)
class Records:
    """The contents of a folder of recorded files: every readable line, and the lines that cannot be read."""

    rows: tuple[Row, ...]
    ceilings: tuple[Ceilings, ...]
    bad: tuple[BadLine, ...]
    any_shape: tuple[AnyShapeRow, ...] = ()


def read_records(folder: Path) -> Records:
    """Every recorded measurement of every GPU; none where the folder does not exist.

    They come in the order of the files, so a GPU's newest ceilings come last.
    """
    rows, bad_rows = read_lines(folder.glob("*.jsonl"), Row, _possible)
    ceilings, bad_ceilings = read_lines((folder / _CEILINGS).glob("*.jsonl"), Ceilings, _possible)
    drawn = read_any_shape(folder)
    return Records(
        rows=tuple(rows),
        ceilings=tuple(ceilings),
        bad=(*bad_rows, *bad_ceilings, *drawn.bad),
        any_shape=drawn.rows,
    )


def recorded_rows(folder: Path) -> tuple[Row, ...]:
    """Every recorded row; `read_records` says which lines are left out."""
    return read_records(folder).rows


def recorded_ceilings(folder: Path) -> tuple[Ceilings, ...]:
    """Every recorded measurement of ceilings; `read_records` says which lines are left out."""
    return read_records(folder).ceilings


def record(measured: Row | Ceilings, folder: Path) -> Path:
    """Append one measurement to its GPU's file in a folder, whole or not at all, and return the file's path.

    Raises Unsupported for a row of the interpreter, whose figures say nothing about a GPU. Raises Impossible
    for a row that is faster than the GPU's datasheet, and OSError where the disk refuses it.
    """
    if measured.machine.capability is None:
        raise Unsupported("--record keeps rows of a GPU; these come from Triton's interpreter")
    _possible(measured)
    folder = folder / _CEILINGS if isinstance(measured, Ceilings) else folder
    path = folder / f"{slug(measured.machine.name)}.jsonl"
    append_line(path, json.dumps(to_data(measured), ensure_ascii=False).encode())
    return path


def _possible(measured: Measured) -> Measured:
    """The measurement itself. Raises Impossible for one that is faster than its GPU's datasheet."""
    fault = measured_fault(measured, datasheet_limits(measured.machine.name))
    if fault:
        raise Impossible(fault)
    return measured
