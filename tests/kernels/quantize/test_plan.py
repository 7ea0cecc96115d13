"""Contract: the quantizer takes one pass where a tile fits a block, and refuses what it cannot do."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fp8core.formats import FORMATS
from fp8core.recipes import RECIPES, Operand, OperandSpec
from fp8core.scales import FP32_SCALE
from fp8core.tiles import WHOLE, TileShape
from kernels.device import DeviceKind
from kernels.quantize import launch, quantize
from kernels.quantize.constants import quantize_constants
from kernels.quantize.facts import holds
from kernels.quantize.plan import check_operand, plan_quantize
from tests.kernels.cases import WHERE

LINE = OperandSpec(format=FORMATS["e4m3"], tile=TileShape(1, 32), scale_rule=FP32_SCALE)
LARGE = (40_000, 40_000)


@pytest.mark.parametrize("tile", [(1, 128), (128, 1), (128, 128), (1, 32), (1, 1), (64, 256)], ids=str)
def test_a_tile_that_fits_a_block_takes_one_pass(tile):
    made = plan_quantize(replace(LINE, tile=TileShape(*tile)), *LARGE)
    assert made.fused
    assert (made.part_mn, made.part_k) == tile
    assert made.block_mn % tile[0] == made.block_k % tile[1] == 0


@pytest.mark.parametrize(
    "tile", [(WHOLE, WHOLE), (1, WHOLE), (WHOLE, 1), (96, 80), (3, 7), (512, 512)], ids=str
)
def test_another_tile_takes_two_passes_of_parts_that_divide_it(tile):
    made = plan_quantize(replace(LINE, tile=TileShape(*tile)), *LARGE)
    assert not made.fused
    parts, blocks = (made.part_mn, made.part_k), (made.block_mn, made.block_k)
    for extent, part, block in zip(tile, parts, blocks, strict=True):
        assert block % part == 0
        assert extent is WHOLE or extent % part == 0


def test_one_pass_where_a_tile_fits_a_block():
    dsv3 = RECIPES["deepseek_v3_pow2"].wgrad.b
    plan = plan_quantize(dsv3, 4096, 4096)
    assert plan.fused
    assert plan.saved == (dsv3.saved_as.tile.mn, dsv3.saved_as.tile.k)
    row = replace(LINE, tile=TileShape(1, WHOLE))
    assert plan_quantize(row, 4096, 7168).fused
    assert not plan_quantize(row, 4096, 40_000).fused
    assert not plan_quantize(RECIPES["per_tensor"].fprop.a, 4096, 4096).fused
    for recipe in RECIPES.values():
        for spec in (*recipe.fprop.quantized, *recipe.dgrad.quantized, *recipe.wgrad.quantized):
            assert check_operand(spec) is None
            plan = plan_quantize(spec, 4096, 4096)
            assert plan.fused == (WHOLE not in (spec.tile.mn, spec.tile.k) or spec.tile.mn == 1)
            assert plan.block_mn % plan.part_mn == plan.block_k % plan.part_k == 0


@pytest.mark.parametrize(
    ("recipe", "reads"),
    [("per_tensor", 2), ("per_tensor_delayed", 1), ("rowwise", 1), ("mxfp4", 1), ("nvfp4", 2)],
)
def test_a_tensor_is_read_again_where_its_own_amax_comes_first(recipe, reads):
    spec = RECIPES[recipe].fprop.a
    assert plan_quantize(spec, 4096, 4096).reads(spec) == reads


@pytest.mark.parametrize("name", RECIPES)
def test_what_is_not_clamped_never_lies_beyond_the_largest_value(name):
    """Around each mantissa of amax where a rule may go up, from the smallest numbers to the largest."""
    for spec in RECIPES[name].fprop.quantized:
        if not holds(spec.scale_rule, spec.format):
            continue
        mantissas = np.arange(0, 1 << 23, 1 << 15, dtype=np.int64)[:, None] + np.arange(-1, 2)
        bits = (mantissas.ravel() + (np.arange(0, 255)[:, None] << 23)).clip(1, 0x7F7FFFFF)
        amax = bits.astype(np.int32).view(np.float32)
        scale = np.asarray(spec.scale_rule.scale(amax, spec.format), np.float64)
        assert (amax / scale <= spec.format.max).all(), spec


def test_a_thread_loads_sixteen_neighbors_where_they_are_neighbors_in_memory(monkeypatch):
    """Elsewhere Triton 3.6 gives K to warps so that its sums, as a rotation takes them, are wrong."""
    made = []
    monkeypatch.setattr(
        launch, "plan_quantize", lambda *at, **how: made.append(plan_quantize(*at, **how)) or made[-1]
    )
    x, packed = torch.zeros(32, 64, device=WHERE), replace(LINE, format=FORMATS["e2m1"])
    for spec in (packed, LINE):
        for k_is_rows in (False, True):
            for given in (x, x.T.contiguous().T):
                quantize(given, Operand(spec=spec, k_is_rows=k_is_rows))
    assert [plan.sixteens for plan in made] == [True, False, False, True] + [False] * 4
    assert [quantize_constants(packed, plan, DeviceKind.GPU)["SIXTEENS"] for plan in made[:4]] == [
        True,
        False,
        False,
        True,
    ]
