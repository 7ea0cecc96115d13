"""The result of a GemmJob (Row): plain data that travels as JSON between processes, pages and files.

Importing this needs neither torch nor a GPU.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from fp8core.errors import sqnr_db
from kernels.bench.job import GemmJob
from kernels.bench.machine import Machine, Timing
from kernels.typed import checked


class Provenance(Enum):
    """The origin of a figure; every page states it. A GPU row read from a file is a recorded one."""

    GPU = "gpu"
    INTERPRETER = "interpreter"


@dataclass(frozen=True, kw_only=True)
class Worst:
    """One output element with a large error: its place, the fp64 truth and the kernel's result."""

    m: int
    n: int
    truth: float
    result: float


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """The sampled outputs that the accumulator's model predicted, and how many of them came out bit-equal.

    The first that differs is described in words.
    """

    outputs: int
    equal: int
    first_difference: str


@dataclass(frozen=True, kw_only=True)
class Row:
    """The result of one GemmJob.

    - rel_err: result against the fp64 product of the unquantized operands.
    - quantization_rel_err: exact product of the quantized operands against that fp64 product.
    - kernel_rel_err: result against the exact product of the quantized operands, as before any refolding.
    - error_map: [bands of M][bands of N], the largest |result - truth| in each patch
      over the rms of the truth.
    - Timings: the GEMM alone, quantizing A and B, bf16 torch.mm and torch's scaled op of the
      recipe, in one run. A time is None where there is none; for torch's op `peer_note` then says why.
    - torch_op: the name of that op: the fastest of those that compute at least what the job demands.
    - why: one sentence on why that kernel and its blocks, from GemmPlan; empty where nobody recorded it.
    - simple: the simple kernel in this run; None where `kernel` names it, or where it refuses.
    - dot_scaled: tl.dot_scaled in this run, for MXFP8 on a GPU where Triton emulates it; else None.
      Where it did not run, `peer_note` says why.
    - prediction: the kernel's bits against the accumulator's model; None where there is no model of this GPU.
    - error_note: the rows of D that the errors were taken over, where not all.
    - bytes: least traffic of the GEMM: codes, scales and D once each, D twice where it is added into.
    """

    job: GemmJob
    provenance: Provenance
    machine: Machine
    date: str
    kernel: str
    out: str
    rel_err: float
    quantization_rel_err: float
    kernel_rel_err: float
    error_map: tuple[tuple[float, ...], ...]
    worst: tuple[Worst, ...]
    bytes: int
    gemm: Timing | None
    quantize: Timing | None
    bf16: Timing | None
    torch_scaled: Timing | None
    peer_note: str = ""
    error_note: str = ""
    prediction: Prediction | None = None
    simple: Timing | None = None
    torch_op: str = ""
    why: str = ""
    dot_scaled: Timing | None = None

    @property
    def sqnr_db(self) -> float:
        return sqnr_db(self.rel_err)

    @property
    def tflop_s(self) -> float | None:
        return self.job.flop / self.gemm.median_us / 1e6 if self.gemm else None

    @property
    def gb_s(self) -> float | None:
        return self.bytes / self.gemm.median_us / 1e3 if self.gemm else None

    @property
    def times_bf16(self) -> float | None:
        """Speed over bf16 torch.mm of the same run, GEMM only."""
        return _ratio(self.bf16, self.gemm)

    @property
    def times_torch_scaled(self) -> float | None:
        """Speed over torch's scaled op of the same recipe of the same run, GEMM only."""
        return _ratio(self.torch_scaled, self.gemm)

    @property
    def times_simple(self) -> float | None:
        """Speed over the simple kernel of the same run, GEMM only."""
        return _ratio(self.simple, self.gemm)

    @property
    def times_dot_scaled(self) -> float | None:
        """Speed over tl.dot_scaled of the same run, GEMM only."""
        return _ratio(self.dot_scaled, self.gemm)

    @property
    def times_bf16_with_quantize(self) -> float | None:
        """Speed over bf16 with both operands' quantization counted."""
        if self.bf16 is None or self.gemm is None or self.quantize is None:
            return None
        return self.bf16.median_us / (self.gemm.median_us + self.quantize.median_us)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "job": self.job.to_dict(), "provenance": self.provenance.value}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Row":
        """The inverse of to_dict. Raises ValueError naming what does not fit."""
        fields = dict(data)
        try:
            fields["job"] = GemmJob.from_dict(fields["job"])
            fields["provenance"] = Provenance(fields["provenance"])
            fields["machine"] = Machine.from_dict(fields["machine"])
            for name in ("gemm", "quantize", "bf16", "torch_scaled"):
                fields[name] = Timing.from_dict(name, fields[name])
            for name in ("simple", "dot_scaled"):
                fields[name] = Timing.from_dict(name, fields.get(name))
            fields["error_map"] = tuple(tuple(band) for band in fields["error_map"])
            fields["worst"] = tuple(Worst(**worst) for worst in fields["worst"])
            if fields.get("prediction"):
                fields["prediction"] = Prediction(**fields["prediction"])
            return _sound(checked(cls(**fields)))
        except KeyError as error:
            raise ValueError(f"this is not a measured row: {error} is missing") from error
        except (TypeError, ValueError) as error:
            raise ValueError(f"this is not a measured row: {error}") from error


def _sound(row: Row) -> Row:
    """A row whose figures can be shown. Raises ValueError for one that cannot."""
    if any(error < 0 for error in (row.rel_err, row.quantization_rel_err, row.kernel_rel_err)):
        raise ValueError("an error is 0 or more, got one below 0")
    if len({len(band) for band in row.error_map}) > 1:
        raise ValueError("the bands of error_map differ in length")
    return row


def _ratio(peer: Timing | None, own: Timing | None) -> float | None:
    return peer.median_us / own.median_us if peer and own else None
