"""Captured results of real tensor cores with their operands, as tests of the models.

Each GPU has one compressed numpy file, `assets/vectors/<gpu>.npz`, of at most 1 MB.
"""

import io
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from kernels.files import replace_file
from kernels.probe.operations import Case, Span, Start

_MACHINE = "machine"


@dataclass(frozen=True, kw_only=True)
class Captured:
    """A case and the device's result d float32[M, N]. operation: its name."""

    operation: str
    case: Case
    d: NDArray[np.float32]


def write_vectors(path: Path, captured: Iterable[Captured], machine: Mapping[str, str]) -> None:
    """Raises OSError; the old file stays then."""
    arrays: dict[str, NDArray[np.generic]] = {_MACHINE: np.array(json.dumps(dict(machine)))}
    for one in captured:
        case = one.case
        length = str(case.a.shape[1])
        parts = (one.operation, case.a_format, case.b_format, case.span.value, case.start.value, length)
        key = "/".join(parts)
        arrays |= {f"{key}/a": case.a, f"{key}/b": case.b, f"{key}/c": case.c, f"{key}/d": one.d}
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    replace_file(path, content.getvalue())


def read_machine(path: Path) -> dict[str, str]:
    """GPU, date and versions. Raises ValueError for a file without vectors."""
    with _opened(path) as arrays:
        machine = json.loads(str(arrays[_MACHINE]))
        if not isinstance(machine, dict):
            raise ValueError(f"{_MACHINE} is a JSON object, got {machine!r}")
        return machine


def read_vectors(path: Path) -> Iterator[Captured]:
    """Raises ValueError for a file without vectors."""
    with _opened(path) as arrays:
        for key in sorted({name.rsplit("/", 1)[0] for name in arrays.files} - {_MACHINE}):
            operation, a_format, b_format, span, start, _ = key.split("/")
            parts = {name: arrays[f"{key}/{name}"] for name in "abcd"}
            d, kinds = parts.pop("d"), {"span": Span(span), "start": Start(start)}
            case = Case(a_format=a_format, b_format=b_format, **kinds, **parts)
            yield Captured(operation=operation, case=case, d=d)


@contextmanager
def _opened(path: Path) -> Iterator[Mapping[str, NDArray[np.generic]]]:
    """A file's arrays. Any fault while they are read becomes one ValueError that names the file."""
    try:
        with path.open("rb") as file, np.load(file) as arrays:
            yield arrays
    except (OSError, EOFError, ValueError, KeyError, TypeError, BadZipFile, zlib.error) as error:
        reason = str(error).splitlines()[0] if str(error) else "it is empty"
        raise ValueError(f"{path.name} holds no captured vectors: {reason}") from error
