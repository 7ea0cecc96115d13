"""Results captured from real tensor cores, with the operands that gave them: what the models are held to.

One compressed numpy file a GPU, `assets/vectors/<gpu>.npz`, at most 1 MB. Reading it needs numpy only.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kernels.probe_cases import Case, Span, Start

_MACHINE = "machine"


@dataclass(frozen=True, kw_only=True)
class Captured:
    """One case and what the device made of it: `operation` names the way (kernels.probe), d float32[M, N]."""

    operation: str
    case: Case
    d: NDArray[np.float32]


def write_vectors(path: Path, captured: Iterable[Captured], machine: Mapping[str, str]) -> None:
    """Keep captured cases and what ran them (gpu, date, versions)."""
    arrays: dict[str, NDArray[np.generic]] = {_MACHINE: np.array(json.dumps(dict(machine)))}
    for one in captured:
        case = one.case
        length = str(case.a.shape[1])
        parts = (one.operation, case.a_format, case.b_format, case.span.value, case.start.value, length)
        key = "/".join(parts)
        arrays |= {f"{key}/a": case.a, f"{key}/b": case.b, f"{key}/c": case.c, f"{key}/d": one.d}
    np.savez_compressed(path, **arrays)


def read_machine(path: Path) -> dict[str, str]:
    """What captured the vectors of a file."""
    with np.load(path) as arrays:
        return json.loads(str(arrays[_MACHINE]))


def read_vectors(path: Path) -> Iterator[Captured]:
    """Every captured case of a file."""
    with np.load(path) as arrays:
        for key in sorted({name.rsplit("/", 1)[0] for name in arrays.files} - {_MACHINE}):
            operation, a_format, b_format, span, start, _ = key.split("/")
            case = Case(
                a_format=a_format,
                b_format=b_format,
                span=Span(span),
                start=Start(start),
                a=arrays[f"{key}/a"],
                b=arrays[f"{key}/b"],
                c=arrays[f"{key}/c"],
            )
            yield Captured(operation=operation, case=case, d=arrays[f"{key}/d"])
