"""What the kernel tests run over: every recipe's operands, shapes, and samples for every documented rule."""

import numpy as np
import torch

from fp8core.linear import MATMULS, Matmul, Side
from fp8core.recipes import RECIPES, Recipe
from kernels.device import HOPPER, current_device
from kernels.gemm.numerics import Summation, numerics_of
from kernels.gemm.plan import GemmPlan, plan_gemm
from kernels.quantize import QuantizedTensor, quantize
from tests.sweeps import distinct

ON_GPU = torch.cuda.is_available()
WHERE = "cuda" if ON_GPU else "cpu"

EVERY_GEMM = {f"{r.name}-{m.name}": (r, m) for r in RECIPES.values() for m in MATMULS.values()}


def seen(recipe: Recipe, matmul: Matmul) -> object:
    """Equal for matmuls that kernels cannot tell apart."""
    return numerics_of(recipe.spec(matmul), HOPPER, Summation.RECIPE).kernel_key


GEMMS = distinct(EVERY_GEMM, seen)
"""By "recipe-matmul": where several multiply alike, the first stands for all."""
OPERANDS = distinct(
    {
        f"{name}-{side.value}": (*gemm, side)
        for name, gemm in EVERY_GEMM.items()
        for side in Side
        if gemm[0].operand(gemm[1], side) is not None
    },
    Recipe.operand,
)
"""By "recipe-matmul-side": what is quantized alike and lies alike is there once."""

SHAPES = ((128, 256), (70, 200), (1, 130), (131, 1), (0, 64), (64, 0))
"""(rows, columns): multiples of every tile, of none, one row, one column, none at all."""
MNK = ((128, 130, 256), (70, 50, 200), (1, 33, 129), (0, 16, 64), (16, 0, 64), (16, 16, 0))
if ON_GPU:
    SHAPES += ((513, 1031), (2048, 384))
    MNK += ((300, 200, 500), (640, 8, 257), (130, 70, 4100))


def sample(name: str, shape: tuple[int, int], seed: int = 0) -> np.ndarray:
    """float32[rows, columns] of normal numbers, with what the name says."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape, dtype=np.float32)
    match name:
        case "subnormal":
            x *= np.float32(2.0**-140)
        case "too_small":
            x *= np.float32(2.0**-127)
        case "tiny":
            x *= np.float32(2.0**-60)
        case "large":
            x *= np.float32(2.0**50)
        case "huge":
            x = np.copysign(rng.random(shape, np.float32) * np.finfo(np.float32).max, x)
        case "wide":
            x *= np.exp2(rng.integers(-30, 30, shape)).astype(np.float32)
        case "zeros":
            x = np.copysign(np.zeros(shape, np.float32), x)
        case "nan":
            x[::67, ::71] = np.nan
        case "inf":
            x[::67, ::71] = -np.inf
    return x


SPECIAL = ("subnormal", "tiny", "large", "wide", "zeros", "nan", "inf")
SAMPLES = ("gaussian", "subnormal", "too_small", "huge", "wide", "zeros", "nan", "inf")


def operand(
    recipe: Recipe, matmul: Matmul, side: Side, mnk: tuple[int, int, int], name: str, seed: int
) -> QuantizedTensor | torch.Tensor:
    """An operand of a matmul of these sizes: quantized, or bf16 [mn, K] where it stays so."""
    shape = matmul.layer(*mnk).of(matmul.operand(side))
    x = torch.from_numpy(sample(name, shape, seed)).to(WHERE)
    own = recipe.operand(matmul, side)
    if own is None:
        return x.bfloat16().T if matmul.k_is_rows(side) else x.bfloat16()
    return quantize(x, own, seed=seed) if own.spec.is_random else quantize(x, own)


def plan_of(
    recipe: Recipe, matmul: Matmul, mnk: tuple[int, int, int], how: Summation = Summation.RECIPE
) -> GemmPlan:
    plan = plan_gemm(recipe.spec(matmul), mnk, current_device(), how)
    assert isinstance(plan, GemmPlan), plan
    return plan


def problem(
    recipe: Recipe, matmul: Matmul, mnk: tuple[int, int, int], name: str = "gaussian"
) -> tuple[QuantizedTensor, QuantizedTensor, GemmPlan]:
    """Both operands and the plan."""
    a = operand(recipe, matmul, Side.A, mnk, name, 1)
    b = operand(recipe, matmul, Side.B, mnk, "gaussian" if name in ("nan", "inf") else name, 2)
    return a, b, plan_of(recipe, matmul, mnk)
