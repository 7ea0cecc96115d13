"""Rows: results of measurements, plain data that travels as JSON between processes, pages and files.

- Recorded: the machine, date and commit of any row.
  - ContestRow adds the times of contenders that took turns: Row (a GEMM), QuantizerRow, Ceilings.
  - LayerRow (kernels.layer.timeline.row) adds one layer's step, kernel by kernel, without contenders.
  - TrainRow (kernels.train.row) adds a training run.
"""

from dataclasses import dataclass, field
from enum import Enum, StrEnum

from fp8core.errors import sqnr_db
from kernels.gemm.plan import PlanRecord
from kernels.measure.jobs import COPY_BYTES, MATMUL_SIDE, CeilingsJob, GemmJob, QuantizerJob
from kernels.typed import Count, Positive

SIMPLE_FIRST = "it compiles in a second, and the fast kernel is compiled meanwhile"
"""The simple kernel's reason, where it gives the first answer."""


class Peer(StrEnum):
    """A contender: our kernel or function, and those timed in turns with it.

    - SIMPLE: the simple kernel, where ours is another. QUANTIZE: quantizing A and B.
    - BF16, TORCH: torch's fastest bf16 matmul, and its fastest scaled op for the recipe.
    - DOT_SCALED: tl.dot_scaled, for MX and NVFP4 operands where Triton emulates it.
    - APART: a quantizer's input computed in bf16 by one kernel, then `quantize`. COMPILED: torch.compile.
    - COPY: a device copy. FP8: torch._scaled_mm with one scale a tensor, as a ceiling.
    """

    OURS = "ours"
    SIMPLE = "simple"
    QUANTIZE = "quantize"
    BF16 = "bf16"
    TORCH = "torch"
    DOT_SCALED = "dot_scaled"
    APART = "apart"
    COMPILED = "compiled"
    COPY = "copy"
    FP8 = "fp8"


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Time of one launch in microseconds, over `runs` measurements: hot ones of many launches in a row, cold
    ones of a single launch.

    Percentiles are None where only the median was kept. op: torch's name of the op.
    """

    median_us: Positive
    runs: Count
    p20_us: Positive | None = None
    p80_us: Positive | None = None
    op: str = ""
    clock_mhz: Positive | None = None
    power_w: Positive | None = None


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The machine that ran a job. The interpreter has no compute capability."""

    name: str
    capability: tuple[Count, Count] | None
    versions: dict[str, str]
    clock_mhz: float | None = None
    power_w: float | None = None


class Provenance(Enum):
    """The origin of a figure. Every page states it; a GPU row read from a file is a recorded one."""

    GPU = "gpu"
    INTERPRETER = "interpreter"
    REFERENCE = "reference"


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """Facts of every recorded row. date: YYYY-MM-DD, UTC. commit: of the code that ran, "+" where files had
    changed since.
    """

    machine: Machine
    date: str
    commit: str | None = None

    @property
    def gpu(self) -> str:
        return self.machine.name


@dataclass(frozen=True, kw_only=True)
class ContestRow(Recorded):
    """Times of contenders that took turns. note: why one has no time; empty where all have one."""

    times: dict[Peer, Timing] = field(default_factory=dict)
    note: str = ""

    @property
    def ours(self) -> Timing | None:
        return self.times.get(Peer.OURS)

    def us(self, peer: Peer) -> float | None:
        timing = self.times.get(peer)
        return timing and timing.median_us

    def over(self, peer: Peer) -> float | None:
        """Our speed over a contender's."""
        own, other = self.us(Peer.OURS), self.us(peer)
        return other / own if own and other else None

    def work(self, peer: Peer) -> tuple[int, int]:
        """(FLOP, bytes) that a contender's launch does at least: no GPU can be faster than these allow."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Worst:
    """One of the largest errors of D."""

    m: Count
    n: Count
    truth: float
    result: float


@dataclass(frozen=True, kw_only=True)
class Errors:
    """Errors of D. Raises ValueError for one below 0, and for a map that is no rectangle.

    - rel_err: result against the fp64 product of the unquantized operands.
    - quantization_rel_err: exact product of the quantized operands against that fp64 product.
    - kernel_rel_err: result against the exact product of the quantized operands, as before any refolding.
    - error_map: [bands of M][bands of N], the largest |result - truth| in each patch over the truth's rms.
    - rows: of D that were compared.
    """

    rel_err: float
    quantization_rel_err: float
    kernel_rel_err: float
    error_map: tuple[tuple[float, ...], ...]
    worst: tuple[Worst, ...]
    rows: Count

    def __post_init__(self) -> None:
        if any(error < 0 for error in (self.rel_err, self.quantization_rel_err, self.kernel_rel_err)):
            raise ValueError("an error is 0 or more, got one below 0")
        if len({len(band) for band in self.error_map}) > 1:
            raise ValueError("the bands of error_map differ in length")

    @property
    def sqnr_db(self) -> float:
        return sqnr_db(self.rel_err)


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """Sampled outputs that the accumulator's model predicted, and the bit-equal ones among them."""

    outputs: Count
    equal: Count
    first_difference: str

    @property
    def different(self) -> int:
        return self.outputs - self.equal


@dataclass(frozen=True, kw_only=True)
class Row(ContestRow):
    """The result of one GemmJob.

    - bytes: least traffic: codes, scales and D once each, D twice where it is added into.
    - kernel: the plan in words. plan: as data; None in rows recorded without it.
    - why: GemmPlan's reason for kernel and blocks. errors: None in a draw of random shapes.
    - prediction: our bits against the accumulator's model; None where this GPU has no model.
    - is_first: a first answer, from few rounds and few rows of D; a careful one replaces it.
    - regret: the plan's time over the best candidate's, minus 1; None where no others were timed.
    """

    job: GemmJob
    bytes: Count
    kernel: str
    plan: PlanRecord | None = None
    why: str = ""
    errors: Errors | None = None
    prediction: Prediction | None = None
    is_first: bool = False
    regret: float | None = None

    @property
    def provenance(self) -> Provenance:
        return Provenance.INTERPRETER if self.machine.capability is None else Provenance.GPU

    @property
    def error_note(self) -> str:
        if self.errors is None or self.errors.rows == self.job.m:
            return ""
        return f"errors over {self.errors.rows} of {self.job.m} rows of D, in bands"

    @property
    def tflop_s(self) -> float | None:
        return self.job.flop / self.ours.median_us / 1e6 if self.ours else None

    @property
    def gb_s(self) -> float | None:
        return self.bytes / self.ours.median_us / 1e3 if self.ours else None

    @property
    def peer(self) -> Peer:
        """The contender of `ratio`: bf16 where torch has no op for the recipe."""
        return Peer.TORCH if Peer.TORCH in self.times else Peer.BF16

    @property
    def ratio(self) -> float | None:
        return self.over(self.peer)

    @property
    def over_bf16_with_quantize(self) -> float | None:
        """Speed over bf16, the quantization of operands counted."""
        if not self.job.spec.quantized:
            return self.over(Peer.BF16)
        own, bf16, quantize = (self.us(peer) for peer in (Peer.OURS, Peer.BF16, Peer.QUANTIZE))
        return bf16 / (own + quantize) if own and bf16 and quantize else None

    def work(self, peer: Peer) -> tuple[int, int]:
        return (0 if peer is Peer.QUANTIZE else self.job.flop), 0


@dataclass(frozen=True, kw_only=True)
class QuantizerRow(ContestRow):
    """Times of a quantizer, of a copy and of torch.compile of the same operations, in turns.

    Our time is of all `launches`. moved_bytes: read and written by ours, more than the job's where it passes
    over the input twice. Raises ValueError for less.
    """

    job: QuantizerJob
    launches: Count
    moved_bytes: Count

    def __post_init__(self) -> None:
        if self.moved_bytes < self.job.bytes:
            raise ValueError(
                f"a quantizer moves its least bytes or more, got {self.job.bytes} at least and "
                f"{self.moved_bytes}"
            )
        if not {Peer.OURS, Peer.COPY} <= self.times.keys():
            raise ValueError(f"a quantizer is timed beside a copy, got times of {', '.join(self.times)}")

    @property
    def gb_s(self) -> float:
        return self.job.bytes / self.times[Peer.OURS].median_us / 1e3

    @property
    def copy_gb_s(self) -> float:
        return self.job.bytes / self.times[Peer.COPY].median_us / 1e3

    @property
    def ratio(self) -> float:
        """Speed over the copy's, by least bytes; 1 is as fast as memory goes."""
        return self.gb_s / self.copy_gb_s

    @property
    def moved_ratio(self) -> float:
        """Speed over the copy's, by the bytes that ours moves."""
        return self.moved_bytes / self.times[Peer.OURS].median_us / 1e3 / self.copy_gb_s

    def work(self, peer: Peer) -> tuple[int, int]:
        return 0, self.job.bytes


@dataclass(frozen=True, kw_only=True)
class Ceilings(ContestRow):
    """Best rates of a GPU, hot: long turns over buffers larger than the L2.

    - COPY: a device copy of COPY_BYTES, which are read and written.
    - BF16: torch.mm of bf16[MATMUL_SIDE, MATMUL_SIDE], normal data, to bf16.
    - FP8: torch._scaled_mm of these in e4m3, one scale a tensor, fast accumulation, to bf16; else see `note`.
    """

    job: CeilingsJob

    def __post_init__(self) -> None:
        if not {Peer.COPY, Peer.BF16} <= self.times.keys():
            raise ValueError(f"ceilings are of a copy and of bf16, got times of {', '.join(self.times)}")

    def rate(self, peer: Peer, percentile: str = "median_us") -> float:
        flop, moved = self.work(peer)
        time_us = getattr(self.times[peer], percentile)
        return moved / time_us / 1e3 if peer is Peer.COPY else flop / time_us / 1e6

    def work(self, peer: Peer) -> tuple[int, int]:
        return (0, 2 * COPY_BYTES) if peer is Peer.COPY else (2 * MATMUL_SIDE**3, 0)
