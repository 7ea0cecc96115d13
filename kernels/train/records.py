"""Recorded training runs: train/<gpu>.jsonl in the assets, a run a line; in speed/, times of steps."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from kernels.bench.lines import BadLine, GpuFiles
from kernels.device import Unsupported
from kernels.paths import TRAIN
from kernels.train.row import Speed, TrainRow

LONGEST_LINE = 30_000
"""Bytes of a recorded run."""

_Made = TypeVar("_Made", TrainRow, Speed)


def _of_a_gpu(made: _Made) -> _Made:
    """The row itself. Raises Unsupported for one without a GPU."""
    if made.machine.capability is None:
        raise Unsupported("--record keeps runs on a GPU; this one was emulated")
    return made


_RUNS = GpuFiles(kind=TrainRow, room="", judge=_of_a_gpu, longest=LONGEST_LINE)
_SPEEDS = GpuFiles(kind=Speed, room="speed", judge=_of_a_gpu)


@dataclass(frozen=True, kw_only=True)
class TrainRecords:
    """The runs of every GPU, in the order of the files, and the lines that cannot be read."""

    rows: tuple[TrainRow, ...]
    bad: tuple[BadLine, ...]
    speeds: tuple[Speed, ...] = ()


def read_train(folder: Path = TRAIN) -> TrainRecords:
    """Every recorded run; none where the folder does not exist."""
    runs, speeds = _RUNS.read(folder), _SPEEDS.read(folder)
    return TrainRecords(rows=runs.rows, bad=(*runs.bad, *speeds.bad), speeds=speeds.rows)


def record_train(row: TrainRow | Speed, folder: Path = TRAIN) -> Path:
    """Append a run, or a step's time, to its GPU's file, and return the file's path.

    Raises Unsupported for a run without a GPU, ValueError for one that is too long, and OSError where the
    disk refuses it.
    """
    return _SPEEDS.record(row, folder) if isinstance(row, Speed) else _RUNS.record(row, folder)
