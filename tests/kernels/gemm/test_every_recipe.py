"""Contract: whatever a recipe's operands come as, D is the exact product of their values within the derived
bound. Codes are packed, scales are bytes, an operand may stay bf16.
"""

from dataclasses import replace

import pytest
import torch

from fp8core.formats import FORMATS
from fp8core.recipes import RECIPES, Operand
from kernels.device import current_device
from kernels.gemm.launch import gemm
from kernels.gemm.meaning import ScaleAt, Summation
from kernels.gemm.plan import GemmPlan, plan_gemm
from tests.kernels.cases import GEMMS, SPECIAL, WHERE, plan_of, sample
from tests.kernels.from_reference import operands, quantized
from tests.kernels.gemm.exact_product import assert_within_bound, poisoned
from tests.sweeps import one_in

ODD = (33, 20, 141)


def multiplied(recipe, matmul, mnk, name="gaussian") -> None:
    a, b = operands(recipe, matmul, mnk, name)
    plan = plan_of(recipe, matmul, mnk)
    out = poisoned(plan, *mnk[:2])
    assert gemm(a, b, plan, out=out) is out
    assert_within_bound(out, a, b, plan)


@pytest.mark.parametrize(("recipe", "matmul"), GEMMS.values(), ids=GEMMS)
def test_d_is_the_exact_product_of_what_the_reference_quantized(recipe, matmul):
    for mnk in (ODD, (1, 33, 129)):
        multiplied(recipe, matmul, mnk)


@pytest.mark.parametrize(("recipe", "matmul"), one_in(3, GEMMS))
def test_an_empty_matmul_has_no_numbers_or_zeros(recipe, matmul):
    for mnk in ((0, 16, 64), (16, 0, 64), (16, 16, 0)):
        a, b = operands(recipe, matmul, mnk)
        plan = plan_of(recipe, matmul, mnk)
        out = gemm(a, b, plan, out=poisoned(plan, *mnk[:2]))
        assert torch.equal(out, torch.zeros_like(out))


@pytest.mark.parametrize(("recipe", "matmul"), one_in(7, GEMMS))
def test_samples_made_to_be_hard_are_within_the_bound(recipe, matmul):
    for name in SPECIAL:
        multiplied(recipe, matmul, (17, 16, 70), name)


LINE, TENSOR, ROW = RECIPES["deepseek_v3"].fprop.a, RECIPES["per_tensor"].fprop.a, RECIPES["rowwise"].fprop.a
MIXED = {
    "bf16 and 4 bits": (None, RECIPES["mxfp4"].fprop.b, ScaleAt.OPERANDS),
    "two levels and bf16": (RECIPES["nvfp4"].fprop.b, None, ScaleAt.OPERANDS),
    "a scale a row and 6 bits": (ROW, RECIPES["mxfp6_e3m2"].fprop.b, ScaleAt.OPERANDS),
    "bf16 and fp32 scales along K": (None, LINE, ScaleAt.K_LOOP),
    "integers under fp32 scales along K": (
        replace(LINE, format=FORMATS["mxint8"]),
        replace(LINE, format=FORMATS["uniform4"]),
        ScaleAt.K_LOOP,
    ),
    "one scale and HiF8": (TENSOR, RECIPES["per_tensor_hifloat8"].fprop.b, ScaleAt.EPILOGUE),
    "a delayed scale and bf16": (RECIPES["per_tensor_delayed"].fprop.a, None, ScaleAt.EPILOGUE),
}
"""Operands that no published recipe multiplies by each other, and where their scales come in."""


@pytest.mark.parametrize("name", MIXED)
def test_operands_of_any_two_recipes_are_multiplied(name):
    """A reader's own recipe may say so. bf16 operands come with strides that TMA does not read."""
    *sides, at = MIXED[name]
    mnk = m, n, k = 19, 24, 140
    spec = replace(RECIPES["mxfp8"].fprop, a=sides[0], b=sides[1])
    plan = plan_gemm(spec, mnk, current_device(), Summation.RECIPE)
    assert isinstance(plan, GemmPlan), plan
    assert plan.meaning.scale_at is at
    pair = []
    for seed, (rows, own) in enumerate(((m, sides[0]), (n, sides[1])), 1):
        x = sample("gaussian", (rows, k), seed)
        if own is None:
            wide = torch.zeros(2 * rows, 3 * k, dtype=torch.bfloat16, device=WHERE)
            wide[::2, ::3] = torch.from_numpy(x).bfloat16()
            pair.append(wide[::2, ::3])
        else:
            pair.append(quantized(x, Operand(spec=own, k_is_rows=False)))
    out = poisoned(plan, m, n)
    gemm(*pair, plan, out=out)
    assert_within_bound(out, *pair, plan)
