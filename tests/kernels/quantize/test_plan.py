"""Contract: the quantizer takes one pass where a tile fits a block, and refuses what it cannot do."""

from dataclasses import replace

import numpy as np
import pytest

from fp8core.formats import FORMATS
from fp8core.recipes import RECIPES, OperandSpec
from fp8core.scales import FP32_SCALE
from fp8core.tiles import WHOLE, TileShape
from kernels.quantize.facts import holds
from kernels.quantize.plan import plan_quantize

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
