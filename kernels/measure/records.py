"""Files of measurements under assets/, one a line: read, judged, appended."""

import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from kernels.device import Unsupported
from kernels.files import append_line
from kernels.measure.jobs import GemmJob
from kernels.measure.peak_rates import Impossible, datasheet_limits, measured_fault
from kernels.measure.rows import Ceilings, QuantizerRow, Recorded, Row
from kernels.paths import RECORDS
from kernels.typed import Positive, from_data, to_data

R = TypeVar("R", bound=Recorded)
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class BadLine:
    """A line of a recorded file that holds no measurement. Lines count from 1; None: the whole file."""

    file: str
    line: int | None
    reason: str

    def __str__(self) -> str:
        line = "" if self.line is None else f", line {self.line}"
        return f"{self.file}{line}: {self.reason}"


@dataclass(frozen=True, kw_only=True)
class Content(Generic[T]):
    rows: tuple[T, ...]
    bad: tuple[BadLine, ...]


@dataclass(frozen=True, kw_only=True)
class GpuFiles(Generic[T]):
    """Measurements of one kind, one a line: <room>/<gpu>.jsonl in a folder of records.

    judge: returns a measurement, or raises ValueError with its fault.
    """

    kind: type[T]
    room: str
    judge: Callable[[T], T]

    def path(self, folder: Path, gpu: str) -> Path:
        return folder / self.room / f"{slug(gpu)}.jsonl"

    def read(self, folder: Path) -> Content[T]:
        rows: list[T] = []
        bad: list[BadLine] = []
        for path in sorted((folder / self.room).glob("*.jsonl")):
            try:
                content = path.read_bytes()
            except OSError as error:
                reason = f"the file could not be read: {error.strerror}"
                bad.append(BadLine(file=path.name, line=None, reason=reason))
                continue
            for number, line in enumerate(content.splitlines(), 1):
                try:
                    rows.append(self.judge(from_data(self.kind, _data(line))))
                except ValueError as error:
                    bad.append(BadLine(file=path.name, line=number, reason=str(error)))
        return Content(rows=tuple(rows), bad=tuple(bad))

    def record(self, row: T, folder: Path) -> Path:
        """Append a measurement to its GPU's file. Raises what `judge` raises, and OSError."""
        line = json.dumps(to_data(self.judge(row)), ensure_ascii=False, separators=(",", ":"))
        path = self.path(folder, row.gpu)
        append_line(path, line.encode())
        return path


def slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _data(line: bytes) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError("the line is not JSON; it may have been cut off") from error


def of_a_gpu(row: R) -> R:
    if row.machine.capability is None:
        raise Unsupported(f"--record keeps rows of a GPU; these come from {row.gpu}")
    return row


def possible(row: R) -> R:
    """The row itself. Raises as `of_a_gpu`, and Impossible for one that is faster than the datasheet."""
    fault = measured_fault(of_a_gpu(row), datasheet_limits(row.gpu))
    if fault:
        raise Impossible(fault)
    return row


def _checked(row: Row) -> Row:
    if row.errors is None:
        raise ValueError("a recorded GEMM has the errors of its D, and this one has none")
    return possible(row)


def _timed(row: Row) -> Row:
    if row.ratio is None:
        raise ValueError("a GEMM of random shapes is timed beside torch's op, and this one is not")
    return possible(row)


GEMMS = GpuFiles(kind=Row, room="", judge=_checked)
RANDOM_SHAPES = GpuFiles(kind=Row, room="any_shape", judge=_timed)
QUANTIZERS = GpuFiles(kind=QuantizerRow, room="quantizers", judge=possible)
CEILINGS = GpuFiles(kind=Ceilings, room="ceilings", judge=possible)


@dataclass(frozen=True, kw_only=True)
class Records:
    rows: tuple[Row, ...]
    ceilings: tuple[Ceilings, ...]
    bad: tuple[BadLine, ...]
    any_shape: tuple[Row, ...] = ()


def read_records(folder: Path) -> Records:
    gemms, ceilings, random = (files.read(folder) for files in (GEMMS, CEILINGS, RANDOM_SHAPES))
    bad = (*gemms.bad, *ceilings.bad, *random.bad)
    return Records(rows=gemms.rows, ceilings=ceilings.rows, bad=bad, any_shape=random.rows)


@dataclass(frozen=True, kw_only=True)
class Quoted:
    """A library's speed on one GEMM, and that of torch's op in the same run."""

    library: str
    job: GemmJob
    tflop_s: Positive
    torch_tflop_s: Positive
    gpu: str
    date: str
    source: str

    @property
    def ratio(self) -> float:
        return self.tflop_s / self.torch_tflop_s


def quoted() -> tuple[Quoted, ...]:
    entries = tomllib.loads((RECORDS / "quoted.toml").read_text(encoding="utf-8"))["figures"]
    return tuple(from_data(Quoted, entry) for entry in entries)
