"""Recorded measurements: <gpu>.jsonl in a folder holds rows, ceilings/<gpu>.jsonl what that GPU reaches."""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from kernels.ceilings import Ceilings
from kernels.device import Unsupported
from kernels.limits import Impossible, datasheet_limits, measured_fault
from kernels.rows import Row

_CEILINGS = "ceilings"

T = TypeVar("T")
Measured = TypeVar("Measured", Row, Ceilings)


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a recorded file, one JSON object a line. Raises ValueError naming a bad line."""
    return _read(path, lambda data: _possible(Row.from_dict(data)))


def recorded_rows(folder: Path) -> tuple[Row, ...]:
    """Every recorded row of every GPU in a folder of .jsonl files; none where the folder does not exist.

    Raises ValueError naming a bad line.
    """
    return tuple(row for path in sorted(folder.glob("*.jsonl")) for row in read_rows(path))


def recorded_ceilings(folder: Path) -> tuple[Ceilings, ...]:
    """Every recorded measurement of ceilings, of every GPU, in the same folder; a GPU's newest one last.

    Raises ValueError naming a bad line.
    """
    paths = sorted((folder / _CEILINGS).glob("*.jsonl"))
    return tuple(
        found for path in paths for found in _read(path, lambda data: _possible(Ceilings.from_dict(data)))
    )


def record(measured: Row | Ceilings, folder: Path) -> Path:
    """Append one measurement to its GPU's file in a folder by a single write, and say where.

    Raises Unsupported for a row of the interpreter, whose figures say nothing about a GPU, Impossible for one
    that is faster than the GPU's datasheet.
    """
    if measured.machine.capability is None:
        raise Unsupported("--record keeps rows of a GPU; these come from Triton's interpreter")
    _possible(measured)
    folder = folder / _CEILINGS if isinstance(measured, Ceilings) else folder
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{slug(measured.machine.name)}.jsonl"
    line = (json.dumps(measured.to_dict(), ensure_ascii=False) + "\n").encode()
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        written = os.write(handle, line)
    finally:
        os.close(handle)
    if written != len(line):
        raise OSError(f"{path} took {written} of {len(line)} bytes: the disk is full")
    return path


def slug(name: str) -> str:
    """A GPU's name as a file name: lower case, words joined by underscores."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _possible(measured: Measured) -> Measured:
    """The measurement itself. Raises Impossible for one that is faster than its GPU's datasheet."""
    fault = measured_fault(measured, datasheet_limits(measured.machine.name))
    if fault:
        raise Impossible(fault)
    return measured


def _read(path: Path, parsed: Callable[[Mapping[str, Any]], T]) -> Iterator[T]:
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            yield parsed(json.loads(line))
        except ValueError as error:
            raise ValueError(f"{path.name}, line {number}: {error}") from error
