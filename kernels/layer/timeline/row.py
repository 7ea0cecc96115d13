"""A block's step in one way, kernel by kernel (LayerRow), and the job that asks for it (TimelineJob).

Plain data that travels as JSON, without torch; recorded rows lie in assets/layer/<gpu>.jsonl.
"""

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from fp8core.recipes import RECIPES, Recipe
from kernels.layer.plan import refusal
from kernels.measure.peak_rates import Impossible, datasheet_limits
from kernels.measure.records import GpuFiles, of_a_gpu
from kernels.measure.rows import Recorded, Timing
from kernels.typed import Count, Positive, check_known, check_whole

CLOCK = "torch.profiler (CUPTI)"
"""The source of kernels' times."""
_LARGEST = 1 << 18
"""Of tokens and features."""


class Block(Enum):
    """Layers that run forward and backward. `out` of an MLP are the hidden features between its layers.

    LINEAR  y[tokens, out] = x · wᵀ
    MLP     y[tokens, in] = h · w_downᵀ,  h[tokens, out] = silu(x · w_gateᵀ) · (x · w_upᵀ)
    """

    LINEAR = "linear"
    MLP = "swiglu_mlp"

    @property
    def title(self) -> str:
        return {Block.LINEAR: "One linear layer", Block.MLP: "One SwiGLU MLP block"}[self]


class Way(Enum):
    """A way to make a step. BOUND multiplies operands that lie quantized: no fp8 step can be faster by much.

    OURS_KEPT is OURS between two optimizer steps: the copies of the weights are there already.
    """

    BF16 = "bf16"
    NAIVE = "naive"
    COMPILED = "compiled"
    OURS = "ours"
    OURS_KEPT = "ours_kept"
    BOUND = "bound"

    @property
    def title(self) -> str:
        return _TITLES[self]


_TITLES = {
    Way.BF16: "bf16",
    Way.NAIVE: "naive fp8: casts by torch's own operations",
    Way.COMPILED: "fp8, casts by torch.compile",
    Way.OURS: "fp8, fused",
    Way.OURS_KEPT: "fp8, fused, weights kept",
    Way.BOUND: "fp8, free casts: the matmuls alone",
}


@dataclass(frozen=True, kw_only=True)
class TimelineJob:
    """Time a block's forward and backward in a recipe, made in several ways that take turns in one run.

    turn_ms: how long a way runs in each of the `rounds`. Raises ValueError where a field is out of range.
    """

    block: Block
    recipe: str
    tokens: int
    in_: int
    out: int
    rounds: int = 7
    turn_ms: int = 20

    def __post_init__(self) -> None:
        check_known("recipe", self.recipe, RECIPES)
        if (reason := refusal(self.recipe_data)) is not None:
            raise ValueError(f"no layer in {self.recipe_data.title}: {reason}")
        check_whole(1, _LARGEST, **{"tokens": self.tokens, "in": self.in_, "out": self.out})
        check_whole(1, 1000, rounds=self.rounds)
        check_whole(1, 10_000, turn_ms=self.turn_ms)

    @property
    def recipe_data(self) -> Recipe:
        return RECIPES[self.recipe]

    @property
    def flop(self) -> int:
        """Floating-point operations of all matmuls of a step: forward, and the two of the gradients."""
        weights = 3 if self.block is Block.MLP else 1
        return 6 * weights * self.tokens * self.in_ * self.out

    @property
    def size(self) -> str:
        """The fields that decide how much memory it needs, and their values."""
        return f"tokens × in × out = {self.tokens} × {self.in_} × {self.out}"

    @property
    def size_advice(self) -> str:
        """Advice on how to need less memory."""
        return "Take a smaller number of tokens"

    @property
    def title(self) -> str:
        """What runs, for a list of runs."""
        return f"{self.block.title}, {self.recipe_data.title}, {self.tokens} × {self.in_} × {self.out}"


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
class LayerRow(Recorded):
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
    in_graph: bool
    kernels: tuple[KernelRun, ...]
    eager: Timing
    graph: Timing | None
    bf16: Timing
    held_bytes: Count
    weight_bytes: Count = 0
    note: str = ""

    def __post_init__(self) -> None:
        if not self.kernels:
            raise ValueError("a step runs at least one kernel, got none")
        starts = [kernel.start_us for kernel in self.kernels]
        if starts[0] or starts != sorted(starts):
            raise ValueError("kernels come in the order of their starts, and the first starts at 0")

    @property
    def span_us(self) -> float:
        """From the start of the first kernel to the end of the last."""
        return max(kernel.end_us for kernel in self.kernels)

    @cached_property
    def own_us(self) -> tuple[float, ...]:
        """Times of the kernels without what overlaps with kernels before: one may start early, and wait."""
        times, end = [], 0.0
        for kernel in self.kernels:
            times.append(max(0.0, kernel.end_us - max(kernel.start_us, end)))
            end = max(end, kernel.end_us)
        return tuple(times)

    @property
    def gaps_us(self) -> float:
        """Time in which no kernel ran."""
        return self.span_us - sum(self.own_us)

    @property
    def step_us(self) -> float:
        """Wall time of the step, in a graph where there is one."""
        return (self.graph or self.eager).median_us

    @property
    def times_bf16(self) -> float:
        """Speed over bf16 of the same run, which ran in a graph. Above 1 this way is faster."""
        return self.bf16.median_us / self.step_us

    def role_us(self, role: Role) -> float:
        """The time of a role's kernels, none of it counted twice."""
        return sum(own for kernel, own in zip(self.kernels, self.own_us, strict=True) if kernel.role is role)

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


def _possible(row: LayerRow) -> LayerRow:
    """The row itself. Raises as `of_a_gpu`, and Impossible for a step that is faster than the datasheet."""
    fault = datasheet_limits(of_a_gpu(row).gpu).fault(row.job.flop / row.step_us / 1e6)
    if fault:
        raise Impossible(fault)
    return row


TIMELINES = GpuFiles(kind=LayerRow, room="", judge=_possible)
read_timelines, record_timeline = TIMELINES.read, TIMELINES.record
