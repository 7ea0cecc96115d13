"""Jobs to measure: a GEMM, a quantizer, a GPU's ceilings; and the estimated cost of a GEMM. Without torch.

The queue orders jobs by cost, and refuses one that would hold a class up.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from math import prod
from typing import Any, ClassVar

from fp8core.costs import code_bytes, scale_bytes
from fp8core.formats import FORMATS
from fp8core.inputs import InputKind
from fp8core.linear import MATMULS, LayerShape, LayerTensor, Matmul
from fp8core.recipes import RECIPES, MatmulSpec, Operand, Recipe
from fp8core.recipes.text import OWN_NAME, own_recipe
from kernels.environment import positive
from kernels.gemm.numerics import Summation
from kernels.typed import check_known, check_whole

MAX_DIM = 2**18
MAX_RUNS = 1000
MAX_SEED = 0xFFFF_FFFF
MAX_TURN_MS = 1000


class StoppedEarly(Exception):
    """Raised by a job that was asked to stop."""


class Cache(Enum):
    """Contents of the L2 when a timed launch starts.

    HOT: data of earlier launches, as in training: launches run back to back over rotated buffers.
    COLD: none of the operands: the L2 is flushed before each launch, which is timed alone.
    """

    HOT = "hot"
    COLD = "cold"


class Into(Enum):
    """Destination of the product: a NEW D, or an fp32 D that it is added to, as a weight gradient over
    micro-batches.
    """

    NEW = "new"
    ACCUMULATE = "accumulate"


@dataclass(frozen=True, kw_only=True)
class GemmJob:
    """One GEMM to run and measure. Raises ValueError for a field out of range.

    - own: the line of the reader's recipe (fp8core.recipes.text) where `recipe` is "own", else empty.
    - turn_ms: how long a contender runs in each of the `runs` rounds of a hot timing.
    - settle_ms: how long it runs untimed before, hot or cold.
    """

    recipe: str
    matmul: str
    m: int
    n: int
    k: int
    input: InputKind = InputKind.GAUSSIAN
    seed: int = 0
    accumulation: Summation = Summation.RECIPE
    cache: Cache = Cache.HOT
    into: Into = Into.NEW
    runs: int = 20
    turn_ms: int = 20
    settle_ms: int = 0
    own: str = ""
    size_advice: ClassVar[str] = "Make M, N or K smaller"

    @classmethod
    def of(cls, recipe: str, matmul: str, shape: "MNK | LayerShape", **fields: Any) -> "GemmJob":
        m, n, k = MATMULS[matmul].mnk(shape) if isinstance(shape, LayerShape) else shape
        return cls(recipe=recipe, matmul=matmul, m=m, n=n, k=k, **fields)

    def __post_init__(self) -> None:
        check_known("recipe", self.recipe, (*RECIPES, OWN_NAME))
        if self.recipe in RECIPES and self.own:
            raise ValueError(f"a line of an own recipe comes with the recipe {OWN_NAME}, got {self.recipe!r}")
        if self.recipe not in RECIPES:
            own_recipe(self.own)
        check_known("matmul", self.matmul, MATMULS)
        check_whole(0, MAX_DIM, M=self.m, N=self.n, K=self.k)
        check_whole(0, MAX_SEED, seed=self.seed)
        check_whole(1, MAX_RUNS, runs=self.runs)
        check_whole(1, MAX_TURN_MS, turn_ms=self.turn_ms)
        check_whole(0, MAX_TURN_MS, settle_ms=self.settle_ms)
        if self.into is Into.ACCUMULATE and not self.writes_fp32:
            raise ValueError(
                f"adding into D needs an fp32 D, and {self.matmul_data.title} of {self.recipe_data.title} "
                f"writes {self.spec.out.name}"
            )

    @property
    def recipe_data(self) -> Recipe:
        return RECIPES[self.recipe] if self.recipe in RECIPES else own_recipe(self.own)

    @property
    def matmul_data(self) -> Matmul:
        return MATMULS[self.matmul]

    @property
    def writes_fp32(self) -> bool:
        return self.spec.out == FORMATS["fp32"]

    @property
    def spec(self) -> MatmulSpec:
        return self.recipe_data.spec(self.matmul_data)

    @property
    def mnk(self) -> tuple[int, int, int]:
        return self.m, self.n, self.k

    @property
    def flop(self) -> int:
        return 2 * self.m * self.n * self.k

    @property
    def title(self) -> str:
        added = ", added into D" if self.into is Into.ACCUMULATE else ""
        cold = ", cold L2" if self.cache is Cache.COLD else ""
        return f"{self.recipe_data.title}, {self.matmul_data.title}, {self.sizes}{added}{cold}"

    @property
    def sizes(self) -> str:
        return " × ".join(map(str, self.mnk))

    @property
    def size(self) -> str:
        return f"M × N × K = {self.sizes}"


MNK = tuple[int, int, int]

LAYER = LayerShape(tokens=4096, in_=4096, out=14336)
CUBE: MNK = (4096, 4096, 4096)
CHECKED: MNK = (4096, 4096, 7168)  # by a sanity check
STANDARD: tuple[MNK | LayerShape, ...] = (CHECKED, (8192, 8192, 8192), (4096, 7168, 4096), LAYER)
SKINNY = tuple(replace(LAYER, tokens=16 << doubling) for doubling in range(5))
"""The same layer at few tokens, as in decoding and in fine-grained experts."""


def shape_text(shape: MNK | LayerShape) -> str:
    if isinstance(shape, LayerShape):
        return f"{shape.tokens} tokens, {shape.in_} → {shape.out}"
    return f"{shape[0]}³" if len(set(shape)) == 1 else " × ".join(map(str, shape))


class QuantizerKernel(Enum):
    QUANTIZE = "quantize"
    SWIGLU = "swiglu_quantize"
    SWIGLU_BACKWARD = "swiglu_backward_quantize"
    RMS_NORM = "rms_norm_quantize"

    @property
    def title(self) -> str:
        return {
            QuantizerKernel.QUANTIZE: "quantize",
            QuantizerKernel.SWIGLU: "SwiGLU → quantize",
            QuantizerKernel.SWIGLU_BACKWARD: "SwiGLU backward → quantize",
            QuantizerKernel.RMS_NORM: "RMSNorm → quantize",
        }[self]


_READS = {QuantizerKernel.SWIGLU: 2.0, QuantizerKernel.SWIGLU_BACKWARD: 1.5}
"""bf16 numbers read for each quantized one, where it is not one."""


@dataclass(frozen=True, kw_only=True)
class QuantizerJob:
    """Time a quantizer of a recipe's tensor, stored [rows, columns], for one or two of its matmuls.

    tensor: "x" (also after a SwiGLU or a norm), "w" or "dy" (also the gradient of a SwiGLU's two halves).
    Raises ValueError for a field out of range, and for a matmul that reads no quantized copy.
    """

    kernel: QuantizerKernel
    recipe: str
    tensor: str
    matmuls: tuple[str, ...]
    rows: int
    columns: int

    def __post_init__(self) -> None:
        check_known("recipe", self.recipe, RECIPES)
        check_whole(1, MAX_DIM, rows=self.rows, columns=self.columns)
        if not self.matmuls or len(self.operands) != len(self.matmuls):
            raise ValueError(
                f"each matmul reads a quantized {self.tensor} of {self.recipe}, got {self.matmuls}"
            )
        if self.kernel is QuantizerKernel.SWIGLU_BACKWARD and self.columns % 2:
            raise ValueError(f"a gradient of two halves has an even width, got {self.columns} columns")

    @property
    def operands(self) -> tuple[Operand, ...]:
        recipe, tensor = RECIPES[self.recipe], LayerTensor(self.tensor)
        sides = [(MATMULS[name], MATMULS[name].side_of(tensor)) for name in self.matmuls if name in MATMULS]
        operands = [recipe.operand(matmul, side) for matmul, side in sides if side is not None]
        return tuple(operand for operand in operands if operand is not None)

    @property
    def layouts(self) -> str:
        ways = ["down columns" if operand.k_is_rows else "along rows" for operand in self.operands]
        return " and ".join(dict.fromkeys(ways))

    @property
    def bytes(self) -> int:
        """Least traffic: what goes in read once, codes and scales written once."""
        shape = self.rows, self.columns
        read = round(_READS.get(self.kernel, 1.0) * prod(shape)) * FORMATS["bf16"].bytes
        return read + sum(code_bytes(each, shape) + scale_bytes(each, shape) for each in self.operands)

    @property
    def title(self) -> str:
        recipe = RECIPES[self.recipe].title
        return f"{self.kernel.title}, {recipe}, {self.tensor} {self.rows} × {self.columns} {self.layouts}"


COPY_BYTES = 1 << 30
MATMUL_SIDE = 8192


@dataclass(frozen=True, kw_only=True)
class CeilingsJob:
    """Measure this GPU's ceilings over `runs` rounds. Raises ValueError."""

    runs: int = 10
    title: ClassVar[str] = "This GPU's ceilings: copy, bf16 and fp8"
    size: ClassVar[str] = f"a copy of {COPY_BYTES >> 30} GiB beside matmuls of {MATMUL_SIDE}³"
    size_advice: ClassVar[str] = "A smaller copy would stay in the L2: free memory on this GPU"

    def __post_init__(self) -> None:
        check_whole(1, MAX_RUNS, runs=self.runs)


FIRST_FLOP = 2**39
"""fp64 work of a first answer: some tens of milliseconds."""
CAREFUL_FLOP = 16 * 2**40
BANDS = 2**5
"""Bands of rows of D, of which at least one is compared."""

_START_S, _CAREFUL_S = 0.2, 1.5
_DRAW_S = {InputKind.HEAVY_TAIL: 25e-9}
_DRAW_USUAL_S = 12e-9
_FP64, _GEMM = 3e13, 4e14
"""FLOP/s of a data center's GPU, rather too low: an estimate is rather too long."""
_FIRST_LAUNCHES, _READY_LAUNCHES, _CONTENDERS = 20, 10, 5

SECONDS, GFLOP = "FP8_EXPLORER_JOB_SECONDS", "FP8_EXPLORER_JOB_GFLOP"


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Seconds until a job's first answer, and from there to its careful one; 0 where there is only one."""

    first_s: float
    careful_s: float = 0.0


def gemm_cost(job: GemmJob) -> Cost:
    launch_s = job.flop / _GEMM
    # A and B are drawn at the same time.
    draw_s = max(job.m, job.n) * job.k * _DRAW_S.get(job.input, _DRAW_USUAL_S)
    band = 2 * job.flop * -(-job.m // BANDS) / max(job.m, 1)
    turn_s = max(job.turn_ms / 1e3, launch_s) + job.settle_ms / 1e3

    def fp64_s(most: float) -> float:
        return max(band, min(2 * job.flop, most)) / _FP64

    first_s = _START_S + draw_s + fp64_s(FIRST_FLOP) + _FIRST_LAUNCHES * launch_s
    timing_s = _CONTENDERS * (_READY_LAUNCHES * launch_s + job.runs * turn_s)
    return Cost(first_s=first_s, careful_s=_CAREFUL_S + draw_s + fp64_s(CAREFUL_FLOP) + timing_s)


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """Most that one job may take: seconds of a GPU until its first answer, and GFLOP."""

    seconds: float = 5.0
    gflop: float = 20_000.0

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Allowance":
        """By the variables SECONDS and GFLOP. Raises ValueError for one that is no number above 0."""
        default = cls()
        return cls(
            seconds=positive(environment, SECONDS, default.seconds),
            gflop=positive(environment, GFLOP, default.gflop),
        )

    def refusal(self, job: object) -> str | None:
        if not isinstance(job, GemmJob):
            return None
        gflop, seconds = job.flop / 1e9, gemm_cost(job).first_s
        if gflop > self.gflop:
            need, limit, variable = f"{gflop:,.0f} GFLOP", f"{self.gflop:,.0f} GFLOP", GFLOP
        elif seconds > self.seconds:
            need, limit, variable = f"about {seconds:,.0f} s of the GPU", f"{self.seconds:g} s", SECONDS
        else:
            return None
        return (
            f"{job.size} asks for {need}, and one run may take {limit} here, so that others need not wait "
            f"long. {job.size_advice}, or start the app with a larger {variable}."
        )
