"""A block's step in one way, kernel by kernel (LayerRow), and its job (TimelineJob), without torch.

Recorded rows lie in assets/layer/<gpu>.jsonl.
"""

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import ClassVar

from fp8core.recipes import RECIPES, Recipe
from kernels.layer.plan import refusal
from kernels.measure.records import GpuFiles, possible
from kernels.measure.rows import Peer, Recorded, Timing
from kernels.typed import Count, Positive, check_known, check_whole

CLOCK = "torch.profiler (CUPTI)"
_LARGEST = 1 << 18


class Block(Enum):
    """Layers that run forward and backward. `out` of an MLP: its hidden features.

    LINEAR  y[tokens, out] = x · wᵀ
    MLP     y[tokens, in] = h · w_downᵀ,  h[tokens, out] = silu(x · w_gateᵀ) · (x · w_upᵀ)
    """

    LINEAR = "linear"
    MLP = "swiglu_mlp"

    @property
    def title(self) -> str:
        return {Block.LINEAR: "One linear layer", Block.MLP: "One SwiGLU MLP block"}[self]


class Way(Enum):
    """A way to run a step. BOUND only multiplies quantized operands.

    OURS_KEPT is OURS between two optimizer steps, with the copies of weights of the first microbatch.
    """

    BF16 = "bf16"
    NAIVE = "naive"
    COMPILED = "compiled"
    OURS = "ours"
    OURS_KEPT = "ours_kept"
    BOUND = "bound"

    @property
    def title(self) -> str:
        return {
            Way.BF16: "bf16",
            Way.NAIVE: "naive fp8: casts by torch's own operations",
            Way.COMPILED: "fp8, casts by torch.compile",
            Way.OURS: "fp8, fused",
            Way.OURS_KEPT: "fp8, fused, weights kept",
            Way.BOUND: "fp8, free casts: the matmuls alone",
        }[self]


@dataclass(frozen=True, kw_only=True)
class TimelineJob:
    """Time a block's forward and backward in a recipe, in several ways.

    turn_ms: of a way in each of the `rounds`. Raises ValueError for a field out of range.
    """

    block: Block
    recipe: str
    tokens: int
    in_: int
    out: int
    rounds: int = 7
    turn_ms: int = 20
    size_advice: ClassVar[str] = "Take a smaller number of tokens"

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
        weights = 3 if self.block is Block.MLP else 1
        return 6 * weights * self.tokens * self.in_ * self.out

    @property
    def size(self) -> str:
        return f"tokens × in × out = {self.tokens} × {self.in_} × {self.out}"

    @property
    def title(self) -> str:
        return f"{self.block.title}, {self.recipe_data.title}, {self.tokens} × {self.in_} × {self.out}"


class Phase(Enum):
    FORWARD = "forward"
    BACKWARD = "backward"


class Role(Enum):
    """Purpose of a kernel.

    - PASS: prepares an operand for its matmul, such as decoding codes that no tensor core takes.
    - QUANTIZE: computes an amax, codes or scales, or transposes codes.
    - FUSED: computes an activation and quantizes it in one pass.
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

    - name: the profiler's. what: in words, such as "quantize dy for Dgrad and Wgrad".
    - start_us: from the first kernel's start. A kernel that waits for the one before it starts at its end.
    - bytes: operands read once and results written once, if counted. flop: of a matmul.
    - piece_bytes: of the piece of the step that ends with this kernel, such as one tensor's quantizing.
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
    """One way of a TimelineJob. Rows with equal `bf16` took turns in one run with bf16.

    - kernels: of one step, with median times over several; in a CUDA graph if `in_graph`.
    - eager: wall time of a step from Python, which waits for the GPU only at its end. graph: of its replays
      as one CUDA graph; None if it could not be captured, and `note` says why.
    - bf16: the bf16 step of this run, in a graph. A row of bf16 has that of its first run.
    - held_bytes: what a forward leaves allocated for its backward, beside y; measured.
    - weight_bytes: copies of weights that live from step to step.
    - note: sentences on surprises of this way.
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
        return max(kernel.end_us for kernel in self.kernels)

    @cached_property
    def own_us(self) -> tuple[float, ...]:
        """Times without overlap: a kernel may start early, and wait."""
        times, end = [], 0.0
        for kernel in self.kernels:
            times.append(max(0.0, kernel.end_us - max(kernel.start_us, end)))
            end = max(end, kernel.end_us)
        return tuple(times)

    @property
    def gaps_us(self) -> float:
        """Time without a kernel."""
        return self.span_us - sum(self.own_us)

    @property
    def step_us(self) -> float:
        """Time of the graph if there is one."""
        return (self.graph or self.eager).median_us

    @property
    def times(self) -> dict[Peer, Timing]:
        return {Peer.OURS: self.graph or self.eager}

    def work(self, peer: Peer) -> tuple[int, int]:
        return self.job.flop, 0

    @property
    def times_bf16(self) -> float:
        return self.bf16.median_us / self.step_us

    def role_us(self, role: Role) -> float:
        return sum(own for kernel, own in zip(self.kernels, self.own_us, strict=True) if kernel.role is role)

    @property
    def bytes(self) -> int | None:
        """Sum over kernels; None if one was not counted."""
        counts = [kernel.bytes for kernel in self.kernels]
        return None if None in counts else sum(counts)


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A way that was not timed; the reason is a sentence."""

    way: Way
    reason: str


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """The result of one TimelineJob, or its beginning."""

    job: TimelineJob
    rows: tuple[LayerRow, ...]
    left_out: tuple[LeftOut, ...] = ()


TIMELINES = GpuFiles(kind=LayerRow, room="", judge=possible)
