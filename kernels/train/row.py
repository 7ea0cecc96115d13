"""The result of a training run (TrainRow): plain data that travels as JSON, without torch.

Recorded runs lie in assets/train/<gpu>.jsonl, a run a line; times of steps in speed/; in cpu/, runs of bf16
by the reference's rules, which a run on a CPU is drawn beside.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import SupportsFloat

from kernels.measure.records import BadLine, GpuFiles, of_a_gpu
from kernels.measure.rows import Provenance, Recorded
from kernels.paths import TRAIN
from kernels.train.job import TrainJob
from kernels.typed import Count, Positive

Number = float | None
"""A number that was measured; None where it is not finite: JSON has no such number."""


def rounded(x: SupportsFloat, digits: int = 4) -> Number:
    """x with some significant digits."""
    return float(f"{float(x):.{digits}g}") if math.isfinite(x) else None


@dataclass(frozen=True, kw_only=True)
class TextUsed:
    """The text of a run.

    - name, version: of the installed package whose sources it is, or of a file.
    - sha256: of all its bytes, files in the order of their paths.
    - held_out_bytes: of the files that no step reads, and `held_out_files` how many those are.
    """

    name: str
    version: str
    sha256: str
    bytes: Count
    files: Count
    held_out_bytes: Count
    held_out_files: Count


@dataclass(frozen=True, kw_only=True)
class CopyStatistics:
    """A quantized copy of x, w or dy in each layer, under the names that Transformer Engine's logs have.

    Each field after `matmul` has a number a layer, in the order of `Statistics.layers`.

    - tensor, matmul: which tensor, and the matmul that reads this copy.
    - sqnr_db: of the copy against its tensor.
    - underflows_percent: elements that are not zero and whose code is.
    - overflows_percent: elements that saturate.
    - scale_inv_min, scale_inv_max: the smallest and the largest scale; it multiplies codes back.
    - mse: the mean squared error.
    - amax: the largest |x| of the tensor.
    """

    tensor: str
    matmul: str
    sqnr_db: tuple[Number, ...]
    underflows_percent: tuple[Number, ...]
    overflows_percent: tuple[Number, ...]
    scale_inv_min: tuple[Number, ...]
    scale_inv_max: tuple[Number, ...]
    mse: tuple[Number, ...]
    amax: tuple[Number, ...]


@dataclass(frozen=True, kw_only=True)
class ProductStatistics:
    """A matmul's result in each layer: the SQNR of y, dx or dw against the product of its bf16 operands."""

    tensor: str
    matmul: str
    sqnr_db: tuple[Number, ...]


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """Statistics of one step. They are taken beside the run, on a batch of its own.

    `layers` are names such as "0.qkv": block, then linear layer.
    """

    step: Count
    layers: tuple[str, ...]
    copies: tuple[CopyStatistics, ...]
    products: tuple[ProductStatistics, ...]


@dataclass(frozen=True, kw_only=True)
class TrainRow(Recorded):
    """The result of one TrainJob, or its beginning: `done` of `steps` steps.

    - losses: nats a byte, each the mean over `loss_every` steps. The last one may be over fewer.
    - held_out: nats a byte on files that no step reads, after the steps of `held_out_at`; computed as the
      recipe computes y.
    - held_out_bf16: the last of them once more, with every layer in bf16.
    - step_ms: median time of a step alone on the GPU; None where it was not measured so.
    - quantized_gemms: launches of GEMMs with a quantized operand in one step, counted. gemms: those of all
      linear layers of blocks and head.
    - failure: a sentence on why the run ended before its last step; empty where it did not fail.

    Raises ValueError for more steps done than there are.
    """

    job: TrainJob
    provenance: Provenance
    text: TextUsed
    steps: Count
    done: Count
    loss_every: Count
    losses: tuple[Number, ...]
    held_out_at: tuple[Count, ...] = ()
    held_out: tuple[Number, ...] = ()
    held_out_bf16: Number = None
    step_ms: Positive | None = None
    quantized_gemms: Count = 0
    gemms: Count = 0
    statistics: tuple[Statistics, ...] = ()
    failure: str = ""

    def __post_init__(self) -> None:
        if self.done > self.steps:
            raise ValueError(f"a run of {self.steps} steps has done at most those, got {self.done}")
        if len(self.held_out) != len(self.held_out_at):
            raise ValueError("each held-out loss has its step")

    @property
    def at(self) -> tuple[int, ...]:
        """The last step of each of `losses`."""
        ends = range(self.loss_every, self.done + self.loss_every, self.loss_every)
        return tuple(min(end, self.done) for end in ends)[: len(self.losses)]

    @property
    def finished(self) -> bool:
        return self.done == self.steps and not self.failure

    @property
    def final(self) -> float | None:
        """The last held-out loss, in nats a byte; None where the run did not reach its end."""
        return self.held_out[-1] if self.finished and self.held_out else None

    @property
    def final_bits(self) -> float | None:
        """The last held-out loss, in bits a byte."""
        return None if self.final is None else self.final / math.log(2)


@dataclass(frozen=True, kw_only=True)
class Speed(Recorded):
    """The time of a recipe's captured step, and that of the compiled bf16 loop in the same command.

    - compiled_ms: of a step of a plain loop in bf16, whose whole model torch.compile makes.
    - quantized_gemms: those of a step. gemm_kernels: launches of this project's kernels that multiply, as
      the profiler saw them in a step. kernels: all launches of a step.
    """

    model: str
    recipe: str
    step_ms: Positive
    compiled_ms: Positive
    quantized_gemms: Count
    gemm_kernels: Count
    kernels: Count

    @property
    def times_compiled(self) -> float:
        """Time over that of the compiled loop; below 1 this one is faster."""
        return self.step_ms / self.compiled_ms


_RUNS = GpuFiles(kind=TrainRow, room="", judge=of_a_gpu)
_SPEEDS = GpuFiles(kind=Speed, room="speed", judge=of_a_gpu)
_EMULATED = GpuFiles(kind=TrainRow, room="cpu", judge=lambda row: row)


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


def read_emulated(folder: Path = TRAIN) -> tuple[TrainRow, ...]:
    """The recorded runs by the reference's rules; none where the folder does not exist."""
    return _EMULATED.read(folder).rows


def record_train(row: TrainRow | Speed, folder: Path = TRAIN) -> Path:
    """Append a run, or a step's time, to its GPU's file, and return the file's path.

    Raises Unsupported for a run without a GPU, and OSError where the disk refuses it.
    """
    return _SPEEDS.record(row, folder) if isinstance(row, Speed) else _RUNS.record(row, folder)
