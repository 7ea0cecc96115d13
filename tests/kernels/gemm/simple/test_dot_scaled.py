"""Contract: tl.dot_scaled is planned where Triton emulates it, by the contest alone, and multiplies what the
kernel beside it does.
"""

import pytest

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.device import HOPPER, current_device
from kernels.gemm import gemm
from kernels.gemm.blocks import Body
from kernels.gemm.meaning import Arithmetic, Summation
from kernels.gemm.plan import GemmPlan, plan_gemm
from kernels.gemm.simple.dot_scaled import BLOCKS, dot_scaled_plan
from kernels.operand_passes.native import NativeKind, kind_of
from tests.kernels.cases import GEMMS, problem

MNK = (256, 384, 512)


def planned(recipe, matmul, device) -> GemmPlan:
    plan = plan_gemm(recipe.spec(matmul), MNK, device, Summation.RECIPE)
    assert isinstance(plan, GemmPlan), plan
    return plan


@pytest.mark.parametrize(("recipe", "matmul"), GEMMS.values(), ids=GEMMS)
def test_it_is_timed_on_hopper_for_the_operands_that_it_takes(recipe, matmul):
    plan, kind = planned(recipe, matmul, HOPPER), kind_of(recipe.spec(matmul))
    timed = dot_scaled_plan(plan, HOPPER)
    formats = {operand.format.name for operand in recipe.spec(matmul).quantized}
    takes = kind in (NativeKind.MXF8F6F4, NativeKind.MXF4) and formats <= {"e4m3", "e5m2", "e2m1"}
    if not takes or plan.meaning.arithmetic is not Arithmetic.DEQUANTIZED:
        assert timed is None
        return
    assert plan.meaning.arithmetic is Arithmetic.DEQUANTIZED
    assert (timed.meaning.arithmetic, timed.body, timed.blocks) == (
        Arithmetic.NATIVE_MX,
        Body.NATIVE_MX,
        BLOCKS,
    )
    assert (timed.meaning.spec, timed.meaning.promotion) == (plan.meaning.spec, plan.meaning.promotion)


@pytest.mark.gpu
@pytest.mark.parametrize("matmul", MATMULS.values(), ids=lambda matmul: matmul.name)
def test_it_gives_the_same_product(matmul):
    a, b, plan = problem(RECIPES["mxfp8"], matmul, MNK)
    timed = dot_scaled_plan(plan, current_device())
    if timed is None:
        pytest.skip("this GPU does not emulate it")
    own, other = gemm(a, b, plan).double(), gemm(a, b, timed).double()
    assert ((own - other).norm() / own.norm()).item() < 3e-3
