"""Operands of random numbers, made on the GPU in no time: for timing, where no result is looked at."""

from functools import partial

import torch

from fp8core.formats import FORMATS
from fp8core.linear import LayerShape, Matmul, Side
from fp8core.packing import packed_bytes
from fp8core.recipes import Operand, Recipe
from fp8core.tiles import TileShape
from kernels.gemm.arithmetic import FP8_FORMATS
from kernels.gemm.factor import GemmOperand
from kernels.quantize.plan import K_PADDING
from kernels.quantize.tensor import QuantizedTensor, float8

_SCALE_CODES = {"e8m0": (120, 127), "e4m3": (0x30, 0x40)}
"""Codes of scales around 1, by their format."""


def random_operands(
    recipe: Recipe, matmul: Matmul, mnk: tuple[int, int, int], place: str
) -> tuple[GemmOperand, GemmOperand]:
    """A and B of a recipe's matmul: normal numbers as FP8 codes or bf16, uniform bits as other codes."""
    m, n, k = mnk
    made = partial(_operand, layer=matmul.layer(m, n, k), place=place)
    return tuple(
        made(recipe.operand(matmul, side), mn, k, matmul.k_is_rows(side))
        for side, mn in ((Side.A, m), (Side.B, n))
    )


def copied(operand: GemmOperand) -> GemmOperand:
    """The operand in other memory."""
    if not isinstance(operand, QuantizedTensor):
        return operand.T.clone().T if operand.stride(0) == 1 else operand.clone()
    scale, outer = operand.operand_scale.T.clone(), operand.outer_scale
    if outer is not None:
        outer = (outer if operand.operand.k_is_rows else outer.T).clone()
    codes = operand.operand_bytes.clone()
    return QuantizedTensor.of(operand.operand, codes, scale, operand.operand_shape[1], outer)


def _operand(
    operand: Operand | None, mn: int, k: int, k_is_rows: bool, *, layer: LayerShape, place: str
) -> GemmOperand:
    if operand is None:
        stored = (k, mn) if k_is_rows else (mn, k)
        x = torch.randn(stored, device=place, dtype=torch.bfloat16)
        return x.T if k_is_rows else x
    spec, padded = operand.spec, -(-k // K_PADDING) * K_PADDING
    if spec.format in FP8_FORMATS:
        values = torch.randn((mn, padded), device=place, dtype=torch.bfloat16)
        values[:, k:] = 0.0
        codes = values.to(float8(spec.format)).view(torch.uint8)
    else:
        width = packed_bytes(padded, spec.format.packed_bits)
        codes = torch.randint(0, 256, (mn, width), device=place, dtype=torch.uint8)
        codes[:, packed_bytes(k, spec.format.packed_bits) :] = 0
    rule = spec.scale_rule
    outer = None if rule.outer is None else _scales(FORMATS["fp32"].name, rule.outer.tile, mn, k, place)
    return QuantizedTensor.of(operand, codes, _scales(rule.format.name, spec.tile, mn, k, place), k, outer)


def _scales(format_: str, tile: TileShape, mn: int, k: int, place: str) -> torch.Tensor:
    """[k_tiles, mn_tiles]"""
    shape = (-(-k // (tile.k or k)), -(-mn // (tile.mn or mn)))
    if format_ in _SCALE_CODES:
        return torch.randint(*_SCALE_CODES[format_], shape, device=place, dtype=torch.uint8)
    return 0.5 + torch.rand(shape, device=place, dtype=torch.float32)
