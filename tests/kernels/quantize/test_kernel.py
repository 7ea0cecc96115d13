"""Contract: the device quantizer equals fp8core.quantize bit for bit, codes and scales, over every recipe's
operand, shape and sample, whatever the dtype and strides; its codes lie contiguous along K, packed and padded
with zeros.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fp8core import quantize as reference
from fp8core.formats import FORMATS
from fp8core.linear import MATMULS, Side
from fp8core.recipes import RECIPES, Operand, OperandSpec
from fp8core.rotations import NVFP4_SIGNS, Rotation, RotationKind
from fp8core.rounding import Rounding
from fp8core.scales import FP32_SCALE, SCALE_RULES, Fit, OuterScale, ScaleRule
from fp8core.tiles import WHOLE, TileGrid, TileShape
from kernels.device import Unsupported
from kernels.quantize import quantize
from kernels.quantize.facts import holds
from kernels.quantize.plan import plan_quantize
from tests.kernels.cases import ON_GPU, OPERANDS, SAMPLES, SHAPES, WHERE, sample
from tests.kernels.quantize.same_bits import assert_same_bits, both
from tests.sweeps import some_cases, some_pairs

SPEC = OperandSpec(format=FORMATS["e4m3"], tile=TileShape(1, 64), scale_rule=FP32_SCALE)
ODD = SHAPES if ON_GPU else ((30, 70), (1, 130), (0, 64))
"""(mn, K): multiples of no tile, one row, none at all."""
SPECIAL = tuple(name for name in SAMPLES if name != "gaussian")


@pytest.mark.parametrize(("recipe", "matmul", "side"), some_cases(1, OPERANDS))
def test_codes_and_scales_are_the_references(recipe, matmul, side):
    operand = recipe.operand(matmul, side)
    for shape in map(operand.stored, ODD):
        own, truth = both(sample("gaussian", shape), operand)
        assert own.scale.shape == recipe.grid(matmul, side, shape).scale_shape
        assert_same_bits(own, truth)


@pytest.mark.parametrize(("recipe", "matmul", "side", "name"), some_pairs(OPERANDS, SPECIAL, every=4))
def test_numbers_made_to_be_hard_are_the_references(recipe, matmul, side, name):
    operand = recipe.operand(matmul, side)
    assert_same_bits(*both(sample(name, operand.stored((20, 70))), operand))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("k_is_rows", [False, True])
def test_dtype_and_strides_change_nothing(dtype, k_is_rows):
    x = torch.from_numpy(sample("gaussian", (90, 210))).to(WHERE, dtype)
    grid = TileGrid.over((45, 70), (64, 1) if k_is_rows else (1, 64))
    part = x[::2, ::3]
    truth = reference.quantize(part.float().cpu().numpy(), grid, SPEC)
    for view in (part, part.contiguous(), part.T.contiguous().T):
        assert_same_bits(quantize(view, grid, SPEC, k_is_rows=k_is_rows), truth)
        assert quantize(view, grid, SPEC).operand.k_is_rows == k_is_rows


def test_a_square_tile_lies_as_it_is_told_to():
    """The grid and the spec alone leave open which way K runs."""
    square = RECIPES["deepseek_v3"].fprop.b
    x = torch.from_numpy(sample("gaussian", (130, 260))).to(WHERE)
    grid = TileGrid.over((130, 260), (128, 128))
    turned = quantize(x, grid, square, k_is_rows=True)
    assert turned.operand_codes.shape == (260, 130)
    np.testing.assert_array_equal(
        turned.unpacked_codes().cpu().numpy(), reference.quantize(x.cpu().numpy(), grid, square).codes
    )
    assert quantize(x, grid, square).operand_codes.shape == (130, 260)


def test_what_cannot_be_quantized_is_said_in_a_sentence():
    grid = TileGrid.over((4, 4), (1, 64))
    with pytest.raises(ValueError, match=r"takes bfloat16, float16 or float32, got torch.float64"):
        quantize(torch.zeros(4, 4, dtype=torch.float64, device=WHERE), grid, SPEC)
    with pytest.raises(ValueError, match="spec is OperandSpec, got dict"):
        quantize(torch.zeros(4, 4, device=WHERE), grid, {})
    with pytest.raises(ValueError, match=r"shape \(4, 4\), got \(4, 5\)"):
        quantize(torch.zeros(4, 5, device=WHERE), grid, SPEC)
    with pytest.raises(ValueError, match="x lies on meta, and the kernels here run on"):
        quantize(torch.zeros(4, 4, device="meta"), grid, SPEC)
    with pytest.raises(ValueError, match="takes no seed, got 3"):
        quantize(torch.zeros(4, 4, device=WHERE), grid, SPEC, seed=3)
    with pytest.raises(ValueError, match="takes the tensor's own amax, got a history"):
        quantize(torch.zeros(4, 4, device=WHERE), grid, SPEC, history=torch.ones(1, device=WHERE))
    random = replace(SPEC, rounding=Rounding.STOCHASTIC)
    with pytest.raises(ValueError, match="needs a seed, got None"):
        quantize(torch.zeros(4, 4, device=WHERE), grid, random)
    with pytest.raises(ValueError, match=r"a seed in memory is one int64 on .*, got 2 of torch.int64 on"):
        quantize(torch.zeros(4, 4, device=WHERE), grid, random, seed=torch.zeros(2, dtype=torch.int64))
    for seed in (-1, 2**63, 1.5, np.float32(3)):
        with pytest.raises(ValueError, match=r"a seed is a whole number from 0 to \d+, got "):
            quantize(torch.zeros(4, 4, device=WHERE), grid, random, seed=seed)
    delayed = RECIPES["per_tensor_delayed"].operand(MATMULS["fprop"], Side.A)
    for history in (torch.ones(2, 2, device=WHERE), torch.ones(2, dtype=torch.int32, device=WHERE)):
        with pytest.raises(ValueError, match=r"a history is float32\[steps\] on .*, got .* of \d dims on"):
            quantize(torch.zeros(4, 4, device=WHERE), delayed, history=history)
    for change, sentence in (
        ({"format": FORMATS["fp16"]}, "codes of 4, 6 and 8 bits with a sign, not fp16's of 16"),
        ({"format": FORMATS["e8m0"]}, "not e8m0's of 8 without a sign"),
        ({"format": FORMATS["hif8"], "rounding": Rounding.STOCHASTIC}, "no stochastic rounding to hif8"),
    ):
        with pytest.raises(Unsupported, match=sentence):
            quantize(torch.zeros(4, 4, device=WHERE), grid, replace(SPEC, **change))


def test_a_seed_in_memory_draws_the_bits_of_the_number():
    operand = RECIPES["nvfp4"].operand(MATMULS["wgrad"], Side.A)
    x = torch.from_numpy(sample("gaussian", operand.stored((20, 70)))).to(WHERE)
    for seed in (0, np.int64(1), 2**33 + 5):
        stored = torch.tensor([seed], device=WHERE)
        as_number, as_memory = (quantize(x, operand, seed=each).codes for each in (seed, stored))
        assert torch.equal(as_number, as_memory)


@pytest.mark.gpu
def test_a_large_tensor_is_quantized_beyond_32_bit_offsets():
    assert ON_GPU
    rows, columns = 70_000, 32_768
    x = torch.zeros(rows, columns, dtype=torch.bfloat16, device=WHERE)
    x[-1] = 2.0
    own = quantize(x, TileGrid.over((rows, columns), (1, 64)), SPEC)
    assert (own.codes[-1].float() == SPEC.format.max).all()
    assert not own.codes[-2].view(torch.uint8).any()


E4M3 = FORMATS["e4m3"]
LINE = OperandSpec(format=E4M3, tile=TileShape(1, 32), scale_rule=SCALE_RULES["e8m0_round_up"])
ROTATIONS = [
    Rotation(RotationKind.NVFP4_HADAMARD, len(NVFP4_SIGNS)),
    *(Rotation(RotationKind.SIGNED_HADAMARD, size, seed=size) for size in (1, 2, 32, 64, 128)),
    Rotation(RotationKind.HADAMARD, 256),
]
TWO_LEVELS = ScaleRule(format=E4M3, fit=Fit.NEAREST, outer=OuterScale(tile=TileShape(WHOLE, WHOLE)))
SAVED = {
    "turned": OperandSpec(format=E4M3, tile=TileShape(128, 1), scale_rule=SCALE_RULES["e8m0_round_up"]),
    "as it is": OperandSpec(format=E4M3, tile=TileShape(1, 128), scale_rule=FP32_SCALE),
    "whole": OperandSpec(format=FORMATS["e5m2"], tile=TileShape(WHOLE, WHOLE), scale_rule=FP32_SCALE),
    "odd": OperandSpec(format=FORMATS["mxint8"], tile=TileShape(3, 5), scale_rule=FP32_SCALE),
    "table": OperandSpec(format=FORMATS["hif8"], tile=TileShape(1, 32), scale_rule=FP32_SCALE),
    "two levels": OperandSpec(format=FORMATS["e2m1"], tile=TileShape(1, 16), scale_rule=TWO_LEVELS),
}


@pytest.mark.parametrize(
    ("rotation", "name"),
    some_pairs(
        {f"{one.kind.name}-{one.size}": (one,) for one in ROTATIONS},
        ("gaussian", "zeros", "huge", "inf"),
        every=3,
    ),
)
def test_runs_are_rotated_as_the_reference_does(rotation, name):
    operand = Operand(spec=replace(LINE, rotation=rotation), k_is_rows=name in ("zeros", "inf"))
    assert_same_bits(*both(sample(name, operand.stored((9, 300))), operand))


@pytest.mark.parametrize("saved", SAVED.values(), ids=SAVED)
def test_a_saved_copy_is_quantized_again_as_the_reference_does(saved):
    for name, spec in (
        ("wide", replace(LINE, tile=TileShape(1, 128))),
        ("nan", replace(LINE, rotation=ROTATIONS[0])),
    ):
        operand = Operand(spec=replace(spec, saved_as=saved), k_is_rows=name == "nan")
        assert_same_bits(*both(sample(name, operand.stored((20, 140))), operand))


LINE_OF_32 = OperandSpec(format=FORMATS["e4m3"], tile=TileShape(1, 32), scale_rule=FP32_SCALE)
LARGE = (40_000, 40_000)


@pytest.mark.parametrize("tile", [(1, 128), (128, 1), (128, 128), (1, 32), (1, 1), (64, 256)], ids=str)
def test_a_tile_that_fits_a_block_takes_one_pass(tile):
    plan = plan_quantize(replace(LINE_OF_32, tile=TileShape(*tile)), *LARGE)
    assert plan.only.fits_block
    assert (plan.only.part_mn, plan.only.part_k) == tile
    assert plan.rows % tile[0] == plan.columns % tile[1] == 0


@pytest.mark.parametrize(
    "tile", [(WHOLE, WHOLE), (1, WHOLE), (WHOLE, 1), (96, 80), (3, 7), (512, 512)], ids=str
)
def test_another_tile_takes_two_passes_of_parts_that_divide_it(tile):
    plan = plan_quantize(replace(LINE_OF_32, tile=TileShape(*tile)), *LARGE)
    assert not plan.only.fits_block
    parts, blocks = (plan.only.part_mn, plan.only.part_k), plan.block
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
