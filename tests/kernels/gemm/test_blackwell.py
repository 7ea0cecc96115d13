"""Contract: the instruction of a matmul is known without a GPU, its scales lie where the tensor core reads
them, and the block-scaled kernel multiplies what the codes and scales stand for.

No test here needs Blackwell: the interpreter runs the kernel, and Hopper does by way of bf16.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fp8core.formats import FORMATS
from fp8core.linear import Matmul
from fp8core.recipes import RECIPES, MatmulSpec, OperandSpec, Recipe
from fp8core.scales import OuterScale
from fp8core.tiles import WHOLE, TileShape
from kernels.device import ADA, BLACKWELL, BLACKWELL_RTX, HOPPER, Unsupported, current_device, triton_version
from kernels.gemm import gemm
from kernels.gemm.blackwell import scale_blocks
from kernels.gemm.block_scaled import NATIVE as FACTS
from kernels.gemm.block_scaled import NativeKind, kind_of
from kernels.gemm.blocks import Variant
from kernels.gemm.numerics import Arithmetic, Numerics, Summation, numerics_of
from kernels.gemm.plan import GemmPlan, plan_gemm
from kernels.gemm.simple.dot_scaled import BLOCKS, dot_scaled_plan
from tests.kernels.cases import GEMMS, ON_GPU, WHERE
from tests.kernels.from_reference import operands
from tests.kernels.gemm.exact_product import assert_within_bound, poisoned
from tests.sweeps import distinct

MNK, CUBE = (33, 140, 333), (4096, 4096, 4096)
KINDS = {
    "mxfp8": NativeKind.MXF8F6F4,
    "mxfp8_floor": NativeKind.MXF8F6F4,
    "mxfp8_square": NativeKind.MXF8F6F4,
    "mxfp6_e3m2": NativeKind.MXF8F6F4,
    "mxfp6_e2m3": NativeKind.MXF8F6F4,
    "deepseek_v3_pow2": NativeKind.MXF8F6F4,
    "mxfp4": NativeKind.MXF4,
    "mxfp4_train": NativeKind.MXF4,
    "nvfp4": NativeKind.MXF4NVF4,
    "nvfp4_1x16": NativeKind.MXF4NVF4,
    "four_over_six": NativeKind.MXF4NVF4,
}
REFUSED = {
    "per_tensor": "A has one scale for all of K",
    "rowwise": "A has one scale for all of K",
    "deepseek_v3": "A's scales are fp32",
    "mxint8": "A is mxint8",
    "uniform4": "A is uniform4",
}
NV = RECIPES["nvfp4"].fprop


def reason(spec: MatmulSpec) -> str:
    refused = kind_of(spec)
    assert isinstance(refused, Unsupported), refused
    return refused.reason


def kind_or_reason(recipe: Recipe, matmul: Matmul) -> object:
    """What the block-scaled kernel and its passes see of a matmul; how it was quantized, they do not."""
    spec = recipe.spec(matmul)
    sides = [
        (each.format, each.tile, each.scale_rule.outer and each.scale_rule.outer.tile)
        for each in spec.quantized
    ]
    return tuple(sides), spec.out


NATIVE = distinct(
    {name: case for name, case in GEMMS.items() if isinstance(kind_of(case[0].spec(case[1])), NativeKind)},
    kind_or_reason,
)
TRITON_WITH_E4M3 = (3, 8)
"""Earlier ones neither interpret tl.dot_scaled nor compile it with E4M3 scales for Hopper."""


def native_plan(recipe, matmul) -> GemmPlan:
    numerics = numerics_of(recipe.spec(matmul), BLACKWELL, Summation.RECIPE)
    assert isinstance(numerics, Numerics), numerics
    assert numerics.arithmetic is Arithmetic.NATIVE_MX
    return GemmPlan(numerics=numerics, blocks=BLOCKS, sms=1)


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
    kind = KINDS.get(recipe.name) if len(spec.quantized) == 2 else None
    assert (plan.variant is Variant.NATIVE_MX) == (kind is not None)
    if kind is not None:
        assert f"multiplies by these scales itself (kind::{kind.value})" in plan.why
        assert "never run" in plan.why
    elif spec.extents_along_k:
        assert reason(spec) in plan.why


@pytest.mark.parametrize("name", REFUSED)
def test_the_rest_is_refused_with_its_reason(name):
    assert REFUSED[name] in reason(RECIPES[name].fprop)


def test_an_outer_scale_that_changes_along_k_is_no_factor_of_d():
    def outer(k: int | None) -> OperandSpec:
        tile = TileShape(1, k)
        return replace(NV.a, scale_rule=replace(NV.a.scale_rule, outer=OuterScale(tile=tile)))

    assert kind_of(replace(NV, a=outer(WHOLE))) is NativeKind.MXF4NVF4
    assert "A's outer scale changes every 64 along K" in reason(replace(NV, a=outer(64)))


def blocks_of(scale: np.ndarray) -> np.ndarray:
    """Scales uint8[mn, runs] one by one in blocks of 128 × 4, as the PTX ISA draws scale_vec::1X … 4X."""
    rows, columns = (-(-size // each) for size, each in zip(scale.shape, (128, 4), strict=True))
    blocks = np.zeros((rows, columns, 512), np.uint8)
    for row, run in np.ndindex(scale.shape):
        place = 16 * (row % 32) + 4 * (row % 128 // 32) + run % 4
        blocks[row // 128, run // 4, place] = scale[row, run]
    return blocks


@pytest.mark.parametrize(("mn", "k"), [(128, 128), (300, 700), (1, 16)], ids=str)
@pytest.mark.parametrize("tile", [(1, 1), (1, 2), (2, 1), (32, 4)], ids=str)
@pytest.mark.parametrize("kind", NativeKind, ids=lambda kind: kind.value)
def test_scales_lie_where_the_tensor_core_reads_them(kind, tile, mn, k):
    run = FACTS[kind].tile_k
    tile = TileShape(tile[0], tile[1] * run)
    tiles = (-(-mn // tile.mn), -(-k // tile.k))
    stored = np.random.default_rng(2).integers(0, 256, tiles, dtype=np.uint8)
    spec = replace(RECIPES["mxfp8"].fprop.a, tile=tile)
    blocks = scale_blocks(torch.from_numpy(stored.T.copy()).to(WHERE).T, (mn, k), spec, kind)
    wide = stored.repeat(tile.mn, 0)[:mn].repeat(tile.k // run, 1)[:, : 4 * -(-k // (4 * run))]
    expected = blocks_of(wide).reshape(blocks.shape)
    np.testing.assert_array_equal(blocks.cpu().view(torch.uint8).numpy(), expected)


def test_a_power_of_two_in_fp32_becomes_its_code():
    scale = torch.tensor([[2.0**-126, 1.0, 2.0**127, float("nan")]], device=WHERE).T
    blocks = scale_blocks(scale, (4, 32), RECIPES["mxfp8"].fprop.a, NativeKind.MXF8F6F4).flatten().cpu()
    assert blocks[0:64:16].tolist() == [1, 127, 254, 255]
    assert kind_of(RECIPES["mxfp8"].fprop) is NativeKind.MXF8F6F4


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
    if not takes or plan.numerics.arithmetic is not Arithmetic.DEQUANTIZED:
        assert timed is None
        return
    assert plan.numerics.arithmetic is Arithmetic.DEQUANTIZED
    assert (timed.numerics.arithmetic, timed.variant, timed.blocks) == (
        Arithmetic.NATIVE_MX,
        Variant.NATIVE_MX,
        BLOCKS,
    )
    assert (timed.numerics.spec, timed.numerics.promotion) == (plan.numerics.spec, plan.numerics.promotion)
