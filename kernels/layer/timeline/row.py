"""The step of a block in one way (LayerRow), kernel by kernel: plain data that travels as JSON, no torch."""

from dataclasses import dataclass
from enum import Enum

from kernels.bench.machine import Machine, Timing
from kernels.layer.timeline.job import TimelineJob, Way
from kernels.typed import Count, Positive


class Phase(Enum):
    """The half of a step that a kernel belongs to."""

    FORWARD = "forward"
    BACKWARD = "backward"


class Role(Enum):
    """The purpose of a kernel. FUSED computes an activation and quantizes it in one pass.

    QUANTIZE is all that turns a tensor into codes and scales: amax, casts, copies turned around. PASS is what
    a matmul does to its operands before it multiplies, such as decoding codes that no tensor core takes.
    """

    MATMUL = "matmul"
    PASS = "pass"
    QUANTIZE = "quantize"
    ACTIVATION = "activation"
    FUSED = "fused"
    OTHER = "other"


class Clock(Enum):
    """The source of a kernel's time."""

    PROFILER = "torch.profiler (CUPTI)"
    EVENTS = "CUDA events around each launch"


@dataclass(frozen=True, kw_only=True)
class KernelRun:
    """One kernel of a step.

    - name: as the profiler has it. what: in words, such as "quantize dy for Dgrad and Wgrad".
    - start_us: from the start of the step's first kernel. One that was launched early, to wait for the end of
      the kernel before it, counts from that end.
    - bytes: read once and written once, from its operands; None where nobody counted them.
    - flop: of a matmul; None for another kernel.
    - piece_bytes: of the piece of the step that ends with this kernel, such as one tensor's quantizing: its
      operands read once and its results written once. None within a piece, and in older rows.
    """

    name: str
    what: str
    role: Role
    phase: Phase
    start_us: float
    time_us: Positive
    bytes: Count | None = None
    flop: Count | None = None
    piece_bytes: Count | None = None

    @property
    def end_us(self) -> float:
        return self.start_us + self.time_us

    @property
    def gb_s(self) -> float | None:
        return None if self.bytes is None else self.bytes / self.time_us / 1e3

    @property
    def tflop_s(self) -> float | None:
        return None if self.flop is None else self.flop / self.time_us / 1e6


@dataclass(frozen=True, kw_only=True)
class LayerRow:
    """One way of a TimelineJob. Ways with one `bf16` took turns in one run, and bf16 was one of them.

    - kernels: of one step in the order in which they ran, each time the median over several steps; in a CUDA
      graph where `in_graph`, else launched one by one.
    - eager: wall time of a step launched from Python, which waits for the GPU only at its end. graph: of its
      replays as one CUDA graph; None where it could not be captured, and `note` says why.
    - bf16: the bf16 step of this run, in a graph. A row of bf16 has that of the run it was first in.
    - held_bytes: held from forward to backward, measured: what the step's forward leaves allocated beside y.
    - weight_bytes: what is held longer, from step to step: kept copies of weights. 0 where none are kept.
    - note: sentences on what this way does otherwise than one expects; empty where there is nothing to say.
    """

    job: TimelineJob
    way: Way
    machine: Machine
    date: str
    clock: Clock
    in_graph: bool
    kernels: tuple[KernelRun, ...]
    eager: Timing
    graph: Timing | None
    bf16: Timing
    held_bytes: Count
    weight_bytes: Count = 0
    note: str = ""
    commit: str | None = None

    def __post_init__(self) -> None:
        if not self.kernels:
            raise ValueError("a step runs at least one kernel, got none")
        starts = [kernel.start_us for kernel in self.kernels]
        if starts[0] or starts != sorted(starts):
            raise ValueError("kernels come in the order of their starts, and the first starts at 0")

    @property
    def gpu(self) -> str:
        """The GPU whose file keeps it."""
        return self.machine.name

    @property
    def busy_us(self) -> float:
        """Sum of the kernels' times."""
        return sum(kernel.time_us for kernel in self.kernels)

    @property
    def span_us(self) -> float:
        """From the start of the first kernel to the end of the last."""
        return max(kernel.end_us for kernel in self.kernels)

    @property
    def gaps_us(self) -> float:
        """Time in which no kernel ran."""
        idle, end = 0.0, 0.0
        for kernel in self.kernels:
            idle += max(0.0, kernel.start_us - end)
            end = max(end, kernel.end_us)
        return idle

    @property
    def step_us(self) -> float:
        """Wall time of the step, in a graph where there is one."""
        return (self.graph or self.eager).median_us

    @property
    def times_bf16(self) -> float:
        """Speed over bf16 of the same run, which ran in a graph. Above 1 this way is faster."""
        return self.bf16.median_us / self.step_us

    def role_us(self, role: Role) -> float:
        """Sum of the times of all kernels of a role."""
        return sum(kernel.time_us for kernel in self.kernels if kernel.role is role)

    @property
    def bytes(self) -> int | None:
        """Sum of the kernels' bytes; None where one of them was not counted."""
        counted = [kernel.bytes for kernel in self.kernels]
        return None if None in counted else sum(counted)


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A way that was not timed, with the reason in one sentence."""

    way: Way
    reason: str


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """The result of one TimelineJob, or its beginning: ways that were timed, and those left out."""

    job: TimelineJob
    rows: tuple[LayerRow, ...]
    left_out: tuple[LeftOut, ...] = ()

    @property
    def done(self) -> int:
        """The number of ways that had their turn."""
        return len(self.rows) + len(self.left_out)
