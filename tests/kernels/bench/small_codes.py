"""Operands of a small GEMM as codes and scales, and their exact product."""

import numpy as np

from fp8core.linear import Side
from kernels.bench.predict import Sample
from kernels.device import HOPPER
from kernels.gemm.meaning import ScaleAt, Summation
from kernels.gemm.plan import GemmPlan, plan_gemm

M, N, K = 5, 6, 384


def plan_of(recipe, matmul) -> GemmPlan:
    plan = plan_gemm(recipe.spec(matmul), (M, N, K), HOPPER, Summation.RECIPE)
    assert isinstance(plan, GemmPlan)
    return plan


def samples(plan: GemmPlan, seed: int, whole: bool) -> tuple[Sample, Sample]:
    """Codes of small integers with scales that are powers of two, or of any values with any scales."""
    rng = np.random.default_rng(seed)
    made = []
    for side, rows in ((Side.A, M), (Side.B, N)):
        spec = plan.meaning.spec.operand(side)
        tile_k = spec.tile.k or K
        shape = rows, K // tile_k
        codes = rng.integers(-2, 3, (rows, K)) if whole else rng.standard_normal((rows, K))
        scale = np.exp2(rng.integers(-2, 3, shape) if whole else rng.uniform(-9, -7, shape))
        if plan.meaning.scale_at is ScaleAt.OPERANDS:
            scale = np.exp2(np.rint(np.log2(scale)))
        made.append(Sample(spec.format.encode(codes), scale.astype(np.float32), tile_k))
    return tuple(made)


def exact(plan: GemmPlan, a: Sample, b: Sample) -> np.ndarray:
    left, right = (
        x.values(plan.meaning.spec.operand(side).format.decode(x.codes))
        for side, x in ((Side.A, a), (Side.B, b))
    )
    return left @ right.T
