"""Contract: a GEMM computed as Dᵀ, or one whose operands are decoded in the K loop, gives what the plan gives
without: on a GPU every bit of it, in the interpreter the exact product within the bound of exact_product.py.
"""

from dataclasses import replace

import pytest
import torch

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.gemm import gemm
from kernels.gemm.blocks import Blocks
from kernels.gemm.numerics import Arithmetic
from kernels.gemm.plan import GemmPlan
from tests.kernels.cases import GEMMS, ON_GPU, problem
from tests.kernels.gemm.exact_product import assert_within_bound, poisoned
from tests.sweeps import some_cases

MNK = [(33, 70, 650)] + [(5, 130, 300), (16, 64, 128), (1, 129, 33), (128, 520, 4100)] * ON_GPU
DECODED = {
    "transposed, both decoded": {"transposed": True, "decoded": "ab"},
    "both decoded": {"decoded": "ab"},
    "B decoded": {"decoded": "b"},
    "transposed, A decoded": {"transposed": True, "decoded": "a"},
}


def few(plan: GemmPlan, m: int, **change) -> GemmPlan:
    """The plan with small blocks, for M rows where they are its narrow side."""
    rows = max(16, 1 << (m - 1).bit_length()) if change.get("transposed") else 64
    step = 64 if plan.numerics.arithmetic is Arithmetic.DEQUANTIZED and not change.get("decoded") else 128
    blocks = Blocks(block_m=rows, block_n=64, block_k=step, warps=4, stages=3)
    return replace(plan, blocks=replace(blocks, **change))


CASES = [(name, {"transposed": True}) for name in GEMMS]
CASES += [(name, how) for name in GEMMS if name.startswith("mxfp8") for how in DECODED.values()]


@pytest.mark.parametrize(("mnk", "runs"), [(mnk, 2 - place % 2) for place, mnk in enumerate(MNK)], ids=str)
@pytest.mark.parametrize(
    ("name", "how"), CASES if ON_GPU else some_cases(3, {str(case): case for case in CASES})
)
def test_d_is_the_exact_product(name, how, mnk, runs):
    a, b, plan = problem(*GEMMS[name], mnk)
    few_plan = few(plan, mnk[0], split_k=runs, **how)
    out = poisoned(few_plan, *mnk[:2])
    assert gemm(a, b, few_plan, out=out) is out
    assert_within_bound(out, a, b, few_plan)
    if ON_GPU:
        plain = replace(few_plan.blocks, transposed=False, decoded="", block_m=64)
        truth = gemm(a, b, replace(few_plan, blocks=plain))
        assert torch.equal(out.view(torch.uint8), truth.view(torch.uint8))


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_it_adds_into_d_of_any_strides(recipe):
    a, b, plan = problem(recipe, MATMULS["wgrad"], (20, 130, 300))
    few_plan = few(plan, 20, transposed=True)
    once = gemm(a, b, few_plan)
    out = torch.ones(130, 20, device=once.device).T
    gemm(a, b, few_plan, out=out, accumulate=True)
    assert torch.equal(out, once + 1.0)
