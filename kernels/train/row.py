"""The result of a training run (TrainRow): plain data, without torch.

Recorded runs lie in assets/train/<gpu>.jsonl, times of steps in speed/, bf16 runs by the reference in cpu/.
"""

import math
from dataclasses import dataclass
from typing import SupportsFloat

from kernels.measure.records import GpuFiles, of_a_gpu
from kernels.measure.rows import Provenance, Recorded
from kernels.paths import TRAIN
from kernels.train.job import TrainJob
from kernels.typed import Count, Positive

Number = float | None
"""A measured number; None if it is not finite, which JSON cannot hold."""


def rounded(x: SupportsFloat, digits: int = 4) -> Number:
    return float(f"{float(x):.{digits}g}") if math.isfinite(x) else None


@dataclass(frozen=True, kw_only=True)
class TextUsed:
    """The text of a run: an installed package, or a file.

    - sha256: of all bytes, files in the order of their paths.
    - held_out_bytes, held_out_files: of the files that no step reads.
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
    """The quantized copy of a tensor for a matmul, with the names of Transformer Engine's logs.

    Each field after `matmul` has a number a layer, in the order of `Statistics.layers`.

    - underflows_percent: elements with code 0 that are not 0. overflows_percent: those that saturate.
    - scale_inv_min, scale_inv_max: the smallest and the largest scale; it multiplies codes back.
    - mse: the mean squared error. amax: the largest |x| of the tensor.
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
    """SQNR of a matmul's result in each layer, against the product of its bf16 operands."""

    tensor: str
    matmul: str
    sqnr_db: tuple[Number, ...]


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """Statistics after a step, on a batch of their own. layers: names such as "0.qkv"."""

    step: Count
    layers: tuple[str, ...]
    copies: tuple[CopyStatistics, ...]
    products: tuple[ProductStatistics, ...]


@dataclass(frozen=True, kw_only=True)
class TrainRow(Recorded):
    """The result of one TrainJob, or its beginning: `done` of `steps` steps.

    - losses: nats a byte, each the mean over `loss_every` steps.
    - held_out: nats a byte on files that no step reads, after the steps of `held_out_at`, in the recipe.
    - held_out_bf16: the last of them with every layer in bf16.
    - step_ms: median time of a step alone on the GPU, if measured.
    - quantized_gemms: GEMMs of one step with a quantized operand, counted. gemms: all of blocks and head.
    - failure: a sentence on why the run ended early, else empty.

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
        """The last held-out loss, in nats a byte, of a finished run."""
        return self.held_out[-1] if self.finished and self.held_out else None

    @property
    def final_bits(self) -> float | None:
        return None if self.final is None else self.final / math.log(2)


@dataclass(frozen=True, kw_only=True)
class Speed(Recorded):
    """The time of a recipe's captured step beside a bf16 loop that torch.compile makes (compiled_ms).

    gemm_kernels: launches of our GEMM kernels in a step, by the profiler. kernels: all launches.
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
        """Time over that of the compiled loop."""
        return self.step_ms / self.compiled_ms


RUNS = GpuFiles(kind=TrainRow, room="", judge=of_a_gpu)
SPEEDS = GpuFiles(kind=Speed, room="speed", judge=of_a_gpu)
_EMULATED = GpuFiles(kind=TrainRow, room="cpu", judge=lambda row: row)


def read_emulated() -> tuple[TrainRow, ...]:
    """Recorded runs by the reference's rules."""
    return _EMULATED.read(TRAIN).rows
