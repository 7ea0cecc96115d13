"""Results of measurements: plain data that travels as JSON between processes, pages and files."""

from dataclasses import dataclass, field
from enum import Enum, StrEnum

from fp8core.errors import sqnr_db
from kernels.gemm.plan_record import PlanRecord
from kernels.measure.jobs import COPY_BYTES, MATMUL_SIDE, CeilingsJob, GemmJob, QuantizerJob
from kernels.typed import Count, Positive

SIMPLE_FIRST = "it compiles in a second, and the fast kernel is compiled meanwhile"
"""The reason for the plan of a first answer that does not wait for its job's own plan."""


class Peer(StrEnum):
    """A contender of a timing: our kernel or function, and those that run beside it in the same turns.

    - SIMPLE: the simple kernel, where another one is ours. QUANTIZE: quantizing A and B.
    - BF16, TORCH: the fastest bf16 matmul of torch, and the fastest of its scaled ops for the recipe.
    - DOT_SCALED: tl.dot_scaled, for MX and NVFP4 operands where Triton emulates it.
    - APART: a kernel that computes a quantizer's input in bf16, then `quantize`. COMPILED: torch.compile.
    - COPY: a device copy. FP8: torch._scaled_mm with a scale a tensor, as a ceiling.
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
    """Time of one launch in microseconds, over `runs` measurements.

    A hot measurement is of many launches in a row, a cold one of a single launch. The percentiles are None
    where only the median was kept. op: the name of torch's op. clock_mhz, power_w: the SM clock and power
    under it; None where they were not read.
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
    """The machine that ran a job. A GPU has a compute capability, the interpreter has none.

    clock_mhz and power_w are read during the timing; None where they are unknown, or are a contender's.
    """

    name: str
    capability: tuple[Count, Count] | None
    versions: dict[str, str]
    clock_mhz: float | None = None
    power_w: float | None = None


class Provenance(Enum):
    """The origin of a figure; every page states it. A GPU row read from a file is a recorded one."""

    GPU = "gpu"
    INTERPRETER = "interpreter"
    REFERENCE = "reference"


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """What every recorded row has. date: YYYY-MM-DD, in UTC. commit: of the code that ran, with "+" where
    files had changed since; None where it is unknown.
    """

    machine: Machine
    date: str
    commit: str | None = None

    @property
    def gpu(self) -> str:
        """The GPU whose file keeps it."""
        return self.machine.name


@dataclass(frozen=True, kw_only=True)
class Measurement(Recorded):
    """Times of contenders in the same turns. note: why one has no time; empty where all have one."""

    times: dict[Peer, Timing] = field(default_factory=dict)
    note: str = ""

    @property
    def ours(self) -> Timing | None:
        return self.times.get(Peer.OURS)

    def us(self, peer: Peer) -> float | None:
        """A contender's median time in microseconds; None where it has none."""
        timing = self.times.get(peer)
        return timing and timing.median_us

    def over(self, peer: Peer) -> float | None:
        """Our speed over a contender's of the same run; None where one of the two has no time."""
        own, other = self.us(Peer.OURS), self.us(peer)
        return other / own if own and other else None

    def work(self, peer: Peer) -> tuple[int, int]:
        """FLOP and bytes of a contender's launch, at least: no GPU does them faster than it can."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Worst:
    """One output element with a large error: its place, the fp64 truth and the kernel's result."""

    m: Count
    n: Count
    truth: float
    result: float


@dataclass(frozen=True, kw_only=True)
class Errors:
    """Errors of D.

    - rel_err: result against the fp64 product of the unquantized operands.
    - quantization_rel_err: exact product of the quantized operands against that fp64 product.
    - kernel_rel_err: result against the exact product of the quantized operands, as before any refolding.
    - error_map: [bands of M][bands of N], the largest |result - truth| in each patch over the truth's rms.
    - rows: of D that were compared.

    Raises ValueError for an error below 0, and for a map that is no rectangle.
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
    """The sampled outputs that the accumulator's model predicted, and how many of them came out bit-equal.

    The first that differs is described in words.
    """

    outputs: Count
    equal: Count
    first_difference: str

    @property
    def different(self) -> int:
        return self.outputs - self.equal


@dataclass(frozen=True, kw_only=True)
class Row(Measurement):
    """The result of one GemmJob.

    - bytes: least traffic of the GEMM: codes, scales and D once each, D twice where it is added into.
    - kernel: the plan in words. plan: as data; None where the row was recorded without it.
    - why: one sentence on why that kernel and its blocks, from GemmPlan; empty where nobody recorded it.
    - errors: None in a draw of random shapes, which is only timed.
    - prediction: the kernel's bits against the accumulator's model; None where there is no model of this GPU.
    - is_first: a first answer, from few rounds and few rows of D; a careful one replaces it.
    - regret: the time of the plan over that of the best candidate, minus 1. None where nobody searched.
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
        """The rows of D that the errors were taken over, where not all."""
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
        """The contender that a speed is compared with: bf16 where torch has no op for the recipe."""
        return Peer.TORCH if Peer.TORCH in self.times else Peer.BF16

    @property
    def ratio(self) -> float | None:
        """Our speed over that contender's; above 1 ours is faster."""
        return self.over(self.peer)

    @property
    def over_bf16_with_quantize(self) -> float | None:
        """Speed over bf16 with the quantization of operands counted, where there is any."""
        if not self.job.recipe_data.spec(self.job.matmul_data).quantized:
            return self.over(Peer.BF16)
        own, bf16, quantize = (self.us(peer) for peer in (Peer.OURS, Peer.BF16, Peer.QUANTIZE))
        return bf16 / (own + quantize) if own and bf16 and quantize else None

    def work(self, peer: Peer) -> tuple[int, int]:
        return (0 if peer is Peer.QUANTIZE else self.job.flop), 0


@dataclass(frozen=True, kw_only=True)
class QuantizerRow(Measurement):
    """Times of one quantizer, of a copy and of torch.compile of the same operations, in the same turns.

    Our time is that of all `launches` of the function. moved_bytes: read and written by it, where it passes
    over the input twice; else the job's. Raises ValueError for less than the job's.
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
        """Least bytes over time."""
        return self.job.bytes / self.times[Peer.OURS].median_us / 1e3

    @property
    def copy_gb_s(self) -> float:
        """Bytes read plus bytes written by a copy in the same turns."""
        return self.job.bytes / self.times[Peer.COPY].median_us / 1e3

    @property
    def ratio(self) -> float:
        """Speed over a copy's of the same run, by least bytes; 1 is as fast as memory goes."""
        return self.gb_s / self.copy_gb_s

    @property
    def moved_ratio(self) -> float:
        """Speed over a copy's, by the bytes that ours moves: its passes."""
        return self.moved_bytes / self.times[Peer.OURS].median_us / 1e3 / self.copy_gb_s

    def work(self, peer: Peer) -> tuple[int, int]:
        return 0, self.job.bytes


@dataclass(frozen=True, kw_only=True)
class Ceilings(Measurement):
    """The best rates of a GPU, measured hot: each in long turns over buffers larger than the L2.

    - COPY: a device copy of COPY_BYTES, which are read and written.
    - BF16: torch.mm of bf16[MATMUL_SIDE, MATMUL_SIDE], normal data, to bf16.
    - FP8: torch._scaled_mm of these matrices in e4m3, one scale a tensor, fast accumulation, to bf16. Where
      torch has no such op on this GPU, it is absent, and `note` says why.
    """

    job: CeilingsJob

    def __post_init__(self) -> None:
        if not {Peer.COPY, Peer.BF16} <= self.times.keys():
            raise ValueError(f"ceilings are of a copy and of bf16, got times of {', '.join(self.times)}")

    def rate(self, peer: Peer, percentile: str = "median_us") -> float:
        """GB/s of the copy, read plus written, or TFLOP/s of a matmul."""
        flop, moved = self.work(peer)
        time_us = getattr(self.times[peer], percentile)
        return moved / time_us / 1e3 if peer is Peer.COPY else flop / time_us / 1e6

    def work(self, peer: Peer) -> tuple[int, int]:
        return (0, 2 * COPY_BYTES) if peer is Peer.COPY else (2 * MATMUL_SIDE**3, 0)
