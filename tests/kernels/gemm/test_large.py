"""Contract: dims go up to 262144, and no offset wraps where a tensor has more than 2**31 numbers."""

from itertools import product

import pytest

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.bench.job import MAX_DIM, GemmJob
from kernels.check.products import multiply_planned
from kernels.device import ADA, BLACKWELL, BLACKWELL_RTX, HOPPER, current_device
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import GemmPlan, plan_gemm

SHAPES = {
    "N": (16, MAX_DIM, 4096),
    "M": (MAX_DIM, 16, 4096),
    "K": (16, 272, MAX_DIM),
    "codes": (48, MAX_DIM, 16_384),
    "D": (16_400, MAX_DIM, 64),
}
"""By what is large: a dim, the codes of B beyond 2**31 bytes, or D beyond 2**31 numbers."""
OUTPUTS = 64
MAX_PROGRAMS = 2**31 - 1


@pytest.mark.parametrize("device", [HOPPER, ADA, BLACKWELL, BLACKWELL_RTX], ids=lambda device: device.name)
def test_a_large_matmul_has_a_plan_of_programs_that_can_be_launched(device):
    for recipe, matmul, mnk in product(RECIPES.values(), MATMULS.values(), SHAPES.values()):
        plan = plan_gemm(recipe.spec(matmul), mnk, device, Summation.RECIPE)
        assert isinstance(plan, GemmPlan), plan
        assert 0 < plan.programs(*mnk[:2]) <= MAX_PROGRAMS


@pytest.mark.alone
@pytest.mark.gpu
@pytest.mark.parametrize("large", SHAPES)
@pytest.mark.parametrize("recipe", ["per_tensor", "deepseek_v3", "mxfp8", "nvfp4"])
def test_a_large_matmul_is_right_to_its_last_row_and_column(recipe, large):
    m, n, k = SHAPES[large]
    job, device = GemmJob(recipe=recipe, matmul="fprop", m=m, n=n, k=k), current_device()
    plan = plan_gemm(job.recipe_data.spec(job.matmul_data), (m, n, k), device, job.accumulation)
    found = multiply_planned(job, plan, OUTPUTS, device)
    assert found.unwritten == 0
    assert found.worst <= 1, found.place
    assert found.unlike == 0, found.first
    assert found.repeats
