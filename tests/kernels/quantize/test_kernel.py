"""Contract: the device quantizer equals fp8core.quantize bit for bit, codes and scales, over every recipe's
operand, shape and sample, whatever the dtype and strides; its codes lie contiguous along K, padded with
zeros.
"""

import dataclasses

import numpy as np
import pytest
import torch

from fp8core import quantize as reference
from fp8core.formats import FORMATS
from fp8core.linear import MATMULS, Side
from fp8core.recipes import RECIPES, OperandSpec
from fp8core.rounding import Rounding
from fp8core.scales import E8M0_FLOOR, E8M0_ROUND_UP, FP32_SCALE
from fp8core.tiles import WHOLE, TileGrid, TileShape
from kernels.device import Unsupported, launching
from kernels.quantize.launch import format_facts, quantize
from kernels.quantize.plan import K_PADDING
from tests.kernels.cases import ON_GPU, OPERANDS, SAMPLES, SHAPES, WHERE, sample
from tests.kernels.quantize.same_bits import assert_same_bits
from tests.sweeps import crossed

SPEC = OperandSpec(format=FORMATS["e4m3"], tile=TileShape(1, 64), scale_rule=FP32_SCALE)
FP8 = (FORMATS["e4m3"], FORMATS["e5m2"])
TILES = ((3, 5), (96, WHOLE), (WHOLE, 40), (256, 128), (1, 512), (2, 16))
RULES = {
    f"{rule.fit.name}-{format_.name}": (rule, format_)
    for rule in (FP32_SCALE, E8M0_FLOOR, E8M0_ROUND_UP)
    for format_ in FP8
}
by_operand = pytest.mark.parametrize(("recipe", "matmul", "side"), OPERANDS.values(), ids=OPERANDS)


@pytest.mark.parametrize(("recipe", "matmul", "side", "name"), crossed(OPERANDS, SAMPLES))
def test_codes_and_scales_are_the_references(recipe, matmul, side, name):
    operand = recipe.operand(matmul, side)
    for shape in SHAPES if name == "gaussian" or ON_GPU else SHAPES[1:2]:
        x = sample(name, shape)
        own = quantize(torch.from_numpy(x).to(WHERE), operand)
        assert own.scale.shape == recipe.grid(matmul, side, shape).scale_shape
        assert_same_bits(own, reference.quantize(x, operand))


@pytest.mark.parametrize(("rule", "format_", "tile"), crossed(RULES, TILES))
def test_any_tile_and_scale_rule_will_do(rule, format_, tile):
    spec = OperandSpec(format=format_, tile=TileShape(*tile), scale_rule=rule)
    x = sample("wide", (260, 150))
    grid = TileGrid.over(x.shape, tile)
    own = quantize(torch.from_numpy(x).to(WHERE), grid, spec)
    assert_same_bits(own, reference.quantize(x, grid, spec))


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


@pytest.mark.parametrize("matmul", MATMULS.values(), ids=MATMULS)
def test_codes_lie_along_k_padded_with_zeros(matmul):
    recipe = RECIPES["deepseek_v3"]
    x = torch.full((40, 50), torch.nan, device=WHERE)
    own = quantize(x, recipe.operand(matmul, Side.A))
    mn, k = own.operand_codes.shape
    assert (mn, k) == ((50, 40) if matmul.k_is_rows(Side.A) else (40, 50))
    assert own.operand_codes.stride() == (K_PADDING, 1)
    assert not own.padded_codes[:, k:].view(torch.uint8).any()
    assert own.operand_scale.stride(0) == 1


def test_a_square_tile_lies_as_it_is_told_to():
    """The grid and the spec alone leave open which way K runs."""
    square = RECIPES["deepseek_v3"].fprop.b
    x = torch.from_numpy(sample("gaussian", (130, 260))).to(WHERE)
    grid = TileGrid.over((130, 260), (128, 128))
    turned = quantize(x, grid, square, k_is_rows=True)
    assert turned.operand_codes.shape == (260, 130)
    assert_same_bits(turned, reference.quantize(x.cpu().numpy(), grid, square))
    assert quantize(x, grid, square).operand_codes.shape == (130, 260)


@by_operand
def test_values_are_the_references(recipe, matmul, side):
    x = sample("gaussian", (70, 200))
    operand = recipe.operand(matmul, side)
    own = quantize(torch.from_numpy(x).to(WHERE), operand)
    np.testing.assert_array_equal(own.values().cpu().numpy(), reference.quantize(x, operand).values())


def patterns(format_) -> np.ndarray:
    """float32: every bf16 number, and every code, tie between codes and limit, with its fp32 neighbors."""
    every = (np.arange(1 << 16, dtype=np.uint32) << 16).view(np.float32)
    codes = format_.decode(np.arange(format_.max_code + 1)).astype(np.float32)
    ties = (codes[1:] + codes[:-1]) / 2
    beyond = np.float32(format_.max) * np.array([1, 1.03, 1.04, 1.07, 1.2, 2], np.float32)
    marks = np.concatenate([codes, ties, beyond])
    near = [np.nextafter(marks, np.float32(side)) for side in (-np.inf, np.inf)]
    marks = np.concatenate([marks, *near])
    x = np.concatenate([every, marks, -marks])
    return x[~np.isnan(x)]


@pytest.mark.parametrize("format_", FP8, ids=lambda format_: format_.name)
@pytest.mark.parametrize("cast", [False, pytest.param(True, marks=pytest.mark.gpu)])
def test_bits_and_cast_round_as_the_format_says(format_, cast):
    from kernels.quantize.kernel import encode_kernel

    x = patterns(format_)
    codes = torch.empty(x.size, dtype=torch.uint8, device=WHERE)
    block = 1 << 12
    with launching(codes):
        encode_kernel[(-(-x.size // block),)](
            torch.from_numpy(x).to(WHERE), codes, x.size, **format_facts(format_), CAST=cast, BLOCK=block
        )
    np.testing.assert_array_equal(codes.cpu().numpy(), format_.encode(x))


def test_what_cannot_be_quantized_is_said_in_a_sentence():
    grid = TileGrid.over((4, 4), (1, 64))
    with pytest.raises(ValueError, match="takes bfloat16, float16 or float32, got float64"):
        quantize(torch.zeros(4, 4, dtype=torch.float64, device=WHERE), grid, SPEC)
    with pytest.raises(ValueError, match=r"shape \(4, 4\), got \(4, 5\)"):
        quantize(torch.zeros(4, 5, device=WHERE), grid, SPEC)
    with pytest.raises(ValueError, match="x lies on meta, and the kernels here run on"):
        quantize(torch.zeros(4, 4, device="meta"), grid, SPEC)
    for change, sentence in (
        ({"rounding": Rounding.STOCHASTIC}, "round to nearest even"),
        ({"format": FORMATS["fp16"]}, "e4m3 and e5m2, not to fp16"),
    ):
        with pytest.raises(Unsupported, match=sentence):
            quantize(torch.zeros(4, 4, device=WHERE), grid, dataclasses.replace(SPEC, **change))


@pytest.mark.gpu
def test_a_large_tensor_is_quantized_beyond_32_bit_offsets():
    assert ON_GPU
    rows, columns = 70_000, 32_768
    x = torch.zeros(rows, columns, dtype=torch.bfloat16, device=WHERE)
    x[-1] = 2.0
    own = quantize(x, TileGrid.over((rows, columns), (1, 64)), SPEC)
    assert (own.codes[-1].float() == SPEC.format.max).all()
    assert not own.codes[-2].view(torch.uint8).any()
