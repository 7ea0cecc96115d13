"""Contract: D is the exact product of the dequantized operands within the bound of exact_product.py, for
every recipe, matmul, shape and sample; every element of D is written; equal inputs give equal bits; what does
not fit is refused in a sentence.
"""

import dataclasses

import numpy as np
import pytest
import torch

from fp8core.formats import FORMATS
from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES, Operand
from fp8core.tiles import WHOLE, TileGrid, TileShape
from kernels.device import Unsupported, current_device
from kernels.gemm.blocks import Body
from kernels.gemm.launch import gemm
from kernels.gemm.meaning import Summation
from kernels.gemm.plan import GemmPlan, plan_gemm
from kernels.operand_passes.dequantize import dequantize
from kernels.quantize.launch import quantize
from kernels.quantize.tensor import QuantizedTensor, float8
from tests.kernels.cases import GEMMS, MNK, WHERE, problem, sample
from tests.kernels.gemm.exact_product import (
    KIND,
    assert_within_bound,
    poisoned,
)
from tests.sweeps import crossed

TILES = ((2, 64), (96, 1), (256, 100), (WHOLE, 512))
by_gemm = pytest.mark.parametrize(("recipe", "matmul"), GEMMS.values(), ids=GEMMS)


@pytest.mark.parametrize(
    ("recipe", "matmul", "how"), crossed(GEMMS, (Summation.FAST, Summation.PROMOTED), every=4)
)
def test_the_accumulation_asked_for_is_within_its_bound(recipe, matmul, how):
    mnk = MNK[0]
    a, b, _ = problem(recipe, matmul, mnk)
    plan = plan_gemm(recipe.spec(matmul), mnk, current_device(), how)
    if isinstance(plan, GemmPlan):
        assert_within_bound(gemm(a, b, plan), a, b, plan)
    else:
        assert plan.reason


@pytest.mark.gpu
@by_gemm
def test_blocks_change_no_bit(recipe, matmul):
    """The persistent, large and small blocks all sum in the order that BLOCK_K alone decides."""
    mnk = (700, 650, 1100)
    a, b, plan = problem(recipe, matmul, mnk)
    plan = dataclasses.replace(plan, blocks=dataclasses.replace(plan.blocks, split_k=1))
    first = gemm(a, b, plan)
    others = ((128, 128, 8, 0), (128, 128, 8, 7), (64, 128, 4, 0), (128, 64, 4, 9))
    for block_m, block_n, warps, programs in others:
        blocks = dataclasses.replace(
            plan.blocks,
            block_m=block_m,
            block_n=block_n,
            warps=warps,
            stages=2,
            persistent=programs > 0,
            split_k=1,
            body=Body.SIMPLE,
        )
        assert torch.equal(first, gemm(a, b, dataclasses.replace(plan, blocks=blocks, sms=programs)))


@pytest.mark.parametrize(("recipe", "matmul", "mnk"), crossed(GEMMS, ((1, 33, 129), (70, 50, 300))))
def test_pointers_read_what_descriptors_do(recipe, matmul, mnk):
    """As on a GPU without TMA, also beyond K, M and N."""
    a, b, plan = problem(recipe, matmul, mnk)
    blocks = dataclasses.replace(plan.blocks, persistent=False, stages=2)
    for split_k in (1, 2):
        plans = [
            dataclasses.replace(plan, blocks=dataclasses.replace(blocks, split_k=split_k, tma=tma))
            for tma in (True, False)
        ]
        out = poisoned(plan, *mnk[:2])
        assert torch.equal(gemm(a, b, plans[0]), gemm(a, b, plans[1], out=out))


@pytest.mark.parametrize(("a_mn", "b_mn", "k"), crossed({str(pair): pair for pair in TILES}, (64, 128)))
def test_a_tile_need_not_fit_a_block(a_mn, b_mn, k):
    """Tiles narrower than a block, across blocks, and wider than one, along M and N."""
    spec = RECIPES["deepseek_v3"].fprop
    spec = dataclasses.replace(
        spec,
        a=dataclasses.replace(spec.a, tile=TileShape(a_mn, k)),
        b=dataclasses.replace(spec.b, tile=TileShape(b_mn, k)),
    )
    pair = []
    for seed, rows, own in ((1, 300, spec.a), (2, 270, spec.b)):
        x = torch.from_numpy(sample("wide", (rows, 200), seed)).to(WHERE)
        pair.append(quantize(x, TileGrid.over((rows, 200), (own.tile.mn, own.tile.k)), own))
    plan = plan_gemm(spec, (300, 270, 200), current_device(), Summation.RECIPE)
    assert_within_bound(gemm(*pair, plan), *pair, plan)


def test_a_strided_out_is_written_and_nothing_beside_it():
    a, b, plan = problem(RECIPES["per_tensor"], MATMULS["fprop"], (70, 50, 200))
    wide = torch.full((140, 150), 7.0, dtype=torch.bfloat16, device=WHERE)
    gemm(a, b, plan, out=wide[::2, ::3])
    assert torch.equal(wide[::2, ::3], gemm(a, b, plan))
    wide[::2, ::3] = 7.0
    assert (wide == 7.0).all()


@pytest.mark.parametrize("name", [name for name in GEMMS if name.endswith("wgrad")])
def test_accumulate_adds_in_fp32(name):
    a, b, plan = problem(*GEMMS[name], (70, 50, 200))
    start = torch.randn(70, 50, device=WHERE)
    out = start.clone()
    gemm(a, b, plan, out=out, accumulate=True)
    assert torch.equal(out, start + gemm(a, b, plan))
    empty_a, empty_b, plan = problem(*GEMMS[name], (16, 16, 0))
    out = torch.ones(16, 16, device=WHERE)
    gemm(empty_a, empty_b, plan, out=out, accumulate=True)
    assert (out == 1).all()


@pytest.mark.parametrize("format_", [FORMATS["e4m3"], FORMATS["e5m2"]], ids=lambda format_: format_.name)
def test_dequantizing_is_exact_where_it_says_so(format_):
    """Every finite code times every power of two for which code · scale is a bf16 number."""
    bf16 = FORMATS["bf16"]
    low = bf16.e_min - bf16.mantissa_bits - (format_.e_min - format_.mantissa_bits)
    exponents = np.arange(low, bf16.e_max - format_.e_max + 1)
    assert (exponents[0], exponents[-1]) == {"e4m3": (-124, 119), "e5m2": (-117, 112)}[format_.name]
    codes = np.tile(np.arange(256, dtype=np.uint8), (exponents.size, 1))
    codes[:, ~np.isfinite(format_.values)] = 0
    scale = np.ldexp(np.float32(1), exponents).astype(np.float32)
    spec = dataclasses.replace(RECIPES["mxfp8"].fprop.a, format=format_)
    grid = TileGrid.over(codes.shape, (1, spec.tile.k))
    steps = grid.scale_shape[1]
    operand = QuantizedTensor(
        operand=Operand(spec=spec, k_is_rows=False),
        shape=codes.shape,
        codes=torch.from_numpy(codes).to(WHERE).view(float8(format_)),
        scale=torch.from_numpy(np.tile(scale, (steps, 1))).to(WHERE).T,
    )
    truth = format_.decode(codes) * scale.astype(np.float64)[:, None]
    np.testing.assert_array_equal(dequantize(operand, KIND).double().cpu().numpy(), truth)


def test_what_does_not_fit_is_said_in_a_sentence():
    a, b, plan = problem(RECIPES["deepseek_v3"], MATMULS["wgrad"], (16, 16, 64))
    longer, _, _ = problem(RECIPES["deepseek_v3"], MATMULS["wgrad"], (16, 16, 96))
    wrong, _, _ = problem(RECIPES["mxfp8"], MATMULS["wgrad"], (16, 16, 64))
    with pytest.raises(ValueError, match=r"need one K, got A 16 × 96 and B 16 × 64"):
        gemm(longer, b, plan)
    with pytest.raises(ValueError, match="A was quantized as e4m3 TileShape"):
        gemm(wrong, b, plan)
    with pytest.raises(ValueError, match=r"out needs to be torch.float32 of shape \(16, 16\)"):
        gemm(a, b, plan, out=torch.empty(16, 16, dtype=torch.bfloat16, device=WHERE))
    with pytest.raises(ValueError, match="adds into out, and none was given"):
        gemm(a, b, plan, accumulate=True)
    away = dataclasses.replace(a, codes=a.codes.to("meta"))
    with pytest.raises(ValueError, match="A lies on meta, and the kernels here run on"):
        gemm(away, b, plan)
    a, b, plan = problem(RECIPES["deepseek_v3"], MATMULS["fprop"], (16, 16, 64))
    out = torch.empty(16, 16, dtype=torch.bfloat16, device=WHERE)
    with pytest.raises(ValueError, match="accumulate needs an fp32 out, and this plan writes bf16"):
        gemm(a, b, plan, out=out, accumulate=True)


def test_a_spec_stands_for_its_fastest_plan_or_says_why_there_is_none():
    recipe, matmul = RECIPES["deepseek_v3"], MATMULS["dgrad"]
    a, b, plan = problem(recipe, matmul, (16, 16, 64))
    assert torch.equal(gemm(a, b, recipe.spec(matmul)), gemm(a, b, plan))
    with pytest.raises(Unsupported, match="the GEMM writes bf16 or fp32, not fp16"):
        gemm(a, b, dataclasses.replace(recipe.spec(matmul), out=FORMATS["fp16"]))
