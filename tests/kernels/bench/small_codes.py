"""Operands of a small GEMM as codes and scales, and their exact product."""

import numpy as np

from fp8core.formats import FORMATS
from fp8core.linear import Side
from kernels.bench.exactness.predict import Sample
from kernels.device import HOPPER
from kernels.gemm.meaning import Summation
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
        spec, tile = plan.meaning.spec.operand(side), plan.meaning.applied(side)
        element = FORMATS["bf16"] if spec is None else spec.format
        top = min(2, int(element.max))
        drawn = rng.integers(-top, top + 1, (rows, K)) if whole else rng.standard_normal((rows, K))
        numbers = element.decode(element.encode(drawn))
        tile_k = K if tile is None else tile.k or K
        scale = scales(rng, (rows, K // tile_k), whole) if tile is not None else np.ones((rows, 1))
        if plan.meaning.on_codes(side):
            along = np.repeat(scales(rng, (rows, K // spec.tile.k), whole), spec.tile.k, 1)
            stored = spec.scale_rule.format
            numbers = numbers * np.exp2(np.rint(np.log2(stored.decode(stored.encode(along)))))
        made.append(Sample(numbers, scale.astype(np.float32), tile_k))
    return made[0], made[1]


def scales(rng: np.random.Generator, shape: tuple[int, int], whole: bool) -> np.ndarray:
    """Powers of two, or any numbers far below 1."""
    return np.exp2(rng.integers(-2, 3, shape) if whole else rng.uniform(-6, -4, shape))


def exact(a: Sample, b: Sample) -> np.ndarray:
    return a.values() @ b.values().T
