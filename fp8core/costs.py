"""Costs of a recipe at a layer's true size: scales, bytes, copies, rescales."""

from dataclasses import dataclass
from math import prod

from fp8core.contraction import rescales_per_output
from fp8core.formats import FORMATS, FloatFormat
from fp8core.linear import LayerShape, Matmul, Side
from fp8core.recipes import Copy, Operand, Recipe
from fp8core.tiles import TileGrid


@dataclass(frozen=True, kw_only=True)
class CopyCost:
    """Size of one quantized copy: the number of `scales`, and bytes. Codes count once a layout."""

    scales: int
    code_bytes: int
    scale_bytes: int
    elements: int


def copy_cost(copy: Copy, layer: LayerShape) -> CopyCost:
    shape, operand = layer.of(copy.tensor), copy.operand
    return CopyCost(
        scales=sum(prod(grid.scale_shape) for grid, _ in _levels(operand, shape)),
        code_bytes=code_bytes(operand, shape) * len(copy.k_major),
        scale_bytes=scale_bytes(operand, shape),
        elements=prod(shape),
    )


def code_bytes(operand: Operand, shape: tuple[int, int]) -> int:
    return -(-prod(shape) * operand.spec.format.packed_bits // 8)


def scale_bytes(operand: Operand, shape: tuple[int, int]) -> int:
    """Bytes of a stored tensor's scales, of both levels."""
    return sum(prod(grid.scale_shape) * stored.bytes for grid, stored in _levels(operand, shape))


def _levels(operand: Operand, shape: tuple[int, int]) -> list[tuple[TileGrid, FloatFormat]]:
    """Grid and format of each level of scales in memory."""
    rule = operand.spec.scale_rule
    levels = [(operand.grid(shape), rule.format)]
    outer = operand.outer_grid(shape)
    if outer is not None and rule.outer is not None and rule.has_fitted_outer:
        levels.append((outer, rule.outer.format))
    return levels


def bits_per_element(operand: Operand | None, shape: tuple[int, int]) -> float:
    """Bits of memory for each element of a stored tensor, with its share of the scales.

    None stays bf16. An empty tensor takes the bits of a code alone.
    """
    if operand is None:
        return float(FORMATS["bf16"].packed_bits)
    elements = prod(shape)
    code = operand.spec.format.packed_bits
    return code + (8 * scale_bytes(operand, shape) / elements if elements else 0.0)


def matmul_rescales(recipe: Recipe, matmul: Matmul, layer: LayerShape) -> int:
    """Rescales per output element: 1 is an epilogue, more are inside the K loop."""
    spec = recipe.spec(matmul)
    return rescales_per_output(layer.size(matmul.k), spec.extent(Side.A), spec.extent(Side.B))
