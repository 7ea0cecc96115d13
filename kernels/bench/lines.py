"""Files with a measurement a line: each line is read, or named with what is wrong."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from kernels.files import append_line
from kernels.typed import from_data, to_data

T = TypeVar("T")


class OfGpu(Protocol):
    """A measurement that names its GPU."""

    @property
    def gpu(self) -> str: ...


G = TypeVar("G", bound=OfGpu)


@dataclass(frozen=True, kw_only=True)
class BadLine:
    """A line of a recorded file that holds no measurement. Lines count from 1; None is the file as
    a whole.
    """

    file: str
    line: int | None
    reason: str

    def __str__(self) -> str:
        line = "" if self.line is None else f", line {self.line}"
        return f"{self.file}{line}: {self.reason}"


@dataclass(frozen=True, kw_only=True)
class Kept(Generic[T]):
    """The measurements of every GPU, in the order of the files, and the lines that cannot be read."""

    rows: tuple[T, ...]
    bad: tuple[BadLine, ...]


@dataclass(frozen=True, kw_only=True)
class GpuFiles(Generic[G]):
    """Measurements of one kind, one a line: <room>/<gpu>.jsonl in a folder of records.

    judge: gives a measurement back, or raises ValueError with what is wrong with it. longest: bytes that a
    line may have; None for any number.
    """

    kind: type[G]
    room: str
    judge: Callable[[G], G]
    longest: int | None = None

    def path(self, folder: Path, gpu: str) -> Path:
        """The file of a GPU in a folder of records."""
        return folder / self.room / f"{slug(gpu)}.jsonl"

    def read(self, folder: Path) -> Kept[G]:
        """The recorded measurements of every GPU; none where the folder does not exist."""
        rows, bad = read_lines((folder / self.room).glob("*.jsonl"), self.kind, self.judge)
        return Kept(rows=tuple(rows), bad=tuple(bad))

    def record(self, row: G, folder: Path) -> Path:
        """Append a measurement to its GPU's file in a folder of records, and return the file's path.

        Raises what `judge` raises, ValueError for a line that is too long, and OSError where the disk refuses
        it.
        """
        data = to_data(self.judge(row))
        line = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        if self.longest is not None and len(line) > self.longest:
            raise ValueError(f"a recorded line has at most {self.longest:,} bytes, got {len(line):,}")
        path = self.path(folder, row.gpu)
        append_line(path, line)
        return path


def slug(name: str) -> str:
    """A GPU's name as a file name: lower case, words joined by underscores."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def read_lines(
    paths: Iterable[Path], kind: type[T], judge: Callable[[T], T]
) -> tuple[list[T], list[BadLine]]:
    """The measurements in files, and the lines that hold none.

    judge: gives a measurement back, or raises ValueError with what is wrong with it.
    """
    found: list[T] = []
    bad: list[BadLine] = []
    for path in sorted(paths):
        try:
            content = path.read_bytes()
        except OSError as error:
            reason = f"the file could not be read: {error.strerror}"
            bad.append(BadLine(file=path.name, line=None, reason=reason))
            continue
        for number, line in enumerate(content.removesuffix(b"\n").split(b"\n") if content else (), 1):
            try:
                found.append(judge(from_data(kind, _object(line))))
            except ValueError as error:
                bad.append(BadLine(file=path.name, line=number, reason=str(error)))
    return found, bad


def _object(line: bytes) -> Mapping[str, Any]:
    """The JSON object of a line. Raises ValueError that says what the line holds instead."""
    if not line.strip():
        raise ValueError("the line is empty")
    try:
        data = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise ValueError("the line is not UTF-8 text") from error
    except (ValueError, RecursionError) as error:
        raise ValueError("the line is not JSON; it may have been cut off") from error
    if not isinstance(data, dict):
        raise ValueError(f"the line holds a JSON {type(data).__name__}, and a measurement is an object")
    return data
