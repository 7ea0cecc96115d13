"""Contract: the block-scaled kernel multiplies what the codes and scales stand for, whichever kind it is of.

No test here needs Blackwell: the interpreter runs the kernel, and Hopper does by way of bf16.
"""

import numpy as np
import pytest

from fp8core.formats import FORMATS
from fp8core.linear import MATMULS, Matmul
from fp8core.recipes import RECIPES, Recipe
from kernels.device import ADA, BLACKWELL, BLACKWELL_RTX, HOPPER, current_device, triton_version
from kernels.gemm import gemm
from kernels.gemm.blocks import Body
from kernels.gemm.meaning import Arithmetic, Meaning, Summation, meaning_of
from kernels.gemm.plan import GemmPlan, plan_gemm
from kernels.gemm.simple.dot_scaled import BLOCKS, dot_scaled_plan
from kernels.operand_passes.native import NativeKind, kind_of
from tests.kernels.cases import GEMMS, ON_GPU, problem
from tests.kernels.from_reference import operands
from tests.kernels.gemm.exact_product import assert_within_bound, poisoned
from tests.sweeps import distinct

MNK, CUBE = (33, 140, 333), (4096, 4096, 4096)


def seen(recipe: Recipe, matmul: Matmul) -> object:
    """What the block-scaled kernel and its passes see of a matmul; how it was quantized, they do not."""
    spec = recipe.spec(matmul)
    sides = [
        (each.format, each.tile, each.scale_rule.outer and each.scale_rule.outer.tile)
        for each in spec.quantized
    ]
    return tuple(sides), spec.out


NATIVE = distinct(
    {name: case for name, case in GEMMS.items() if isinstance(kind_of(case[0].spec(case[1])), NativeKind)},
    seen,
)
TRITON_WITH_E4M3 = (3, 8)
"""Earlier ones neither interpret tl.dot_scaled nor compile it with E4M3 scales for Hopper."""


def native_plan(recipe, matmul) -> GemmPlan:
    meaning = meaning_of(recipe.spec(matmul), BLACKWELL, Summation.RECIPE)
    assert isinstance(meaning, Meaning), meaning
    assert meaning.arithmetic is Arithmetic.NATIVE_MX
    return GemmPlan(meaning=meaning, blocks=BLOCKS, sms=1)


@pytest.fixture
def multiplying(monkeypatch):
    """The device multiplies with scales of either format: Triton's interpreter takes E4M3 for E8M0."""
    if ON_GPU and not ADA.capability < current_device().capability:
        pytest.skip("the kernel loads by TMA")
    if triton_version() < TRITON_WITH_E4M3:
        pytest.skip("this Triton does not multiply by E4M3 scales here")
    if ON_GPU:
        return
    from triton.runtime import interpreter

    name = "_dot_scaled_scale_to_f32"
    of_e8m0 = getattr(interpreter, name)

    def of_either(handle, compute_type):
        if handle.dtype.is_int():
            return of_e8m0(handle, compute_type)
        return FORMATS["e4m3"].decode(handle.data.view(np.uint8)).astype(np.float32)

    monkeypatch.setattr(interpreter, name, of_either)


@pytest.mark.usefixtures("multiplying")
@pytest.mark.parametrize(("recipe", "matmul"), NATIVE.values(), ids=NATIVE)
def test_d_is_the_product_of_the_values(recipe, matmul):
    a, b = operands(recipe, matmul, MNK)
    plan = native_plan(recipe, matmul)
    out = poisoned(plan, *MNK[:2])
    assert gemm(a, b, plan, out=out) is out
    assert_within_bound(out, a, b, plan)


@pytest.mark.parametrize("device", [BLACKWELL, BLACKWELL_RTX], ids=lambda device: device.name)
@pytest.mark.parametrize(("recipe", "matmul"), GEMMS.values(), ids=GEMMS)
def test_blackwell_multiplies_natively_what_its_instructions_take(recipe, matmul, device):
    spec = recipe.spec(matmul)
    plan = plan_gemm(spec, CUBE, device, Summation.RECIPE)
    assert isinstance(plan, GemmPlan), plan
    kind = kind_of(spec)
    native = isinstance(kind, NativeKind)
    assert (plan.body is Body.NATIVE_MX) == native
    if native:
        assert f"multiplies by these scales itself (kind::{kind.value})" in plan.why
    elif spec.extents_along_k:
        assert kind.reason in plan.why


SQUARE = (256, 384, 512)


def planned(recipe, matmul, device) -> GemmPlan:
    plan = plan_gemm(recipe.spec(matmul), SQUARE, device, Summation.RECIPE)
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
    a, b, plan = problem(RECIPES["mxfp8"], matmul, SQUARE)
    timed = dot_scaled_plan(plan, current_device())
    if timed is None:
        pytest.skip("this GPU does not emulate it")
    own, other = gemm(a, b, plan).double(), gemm(a, b, timed).double()
    assert ((own - other).norm() / own.norm()).item() < 3e-3
