"""The costs of a recipe at a layer's true size: scales, bytes, copies, rescales."""

from dataclasses import dataclass
from math import prod

from fp8core.contraction import rescales_per_output
from fp8core.linear import LayerShape, Matmul
from fp8core.recipes import Copy, Operand, Recipe


@dataclass(frozen=True, kw_only=True)
class CopyCost:
    """The size of one quantized copy: how many `scales`, and the rest in bytes. Codes count once a layout."""

    scales: int
    code_bytes: int
    scale_bytes: int
    elements: int

    @property
    def scale_bits_per_element(self) -> float:
        """Overhead of the scales; 0 for an empty tensor."""
        return 8 * self.scale_bytes / self.elements if self.elements else 0.0


def copy_cost(copy: Copy, layer: LayerShape) -> CopyCost:
    """Scales and bytes of one quantized copy of a tensor in a layer of these sizes."""
    shape, operand = layer.of(copy.tensor), copy.operand
    outer = operand.outer_grid(shape)
    return CopyCost(
        scales=prod(operand.grid(shape).scale_shape) + (prod(outer.scale_shape) if outer else 0),
        code_bytes=code_bytes(operand, shape) * len(copy.k_major),
        scale_bytes=scale_bytes(operand, shape),
        elements=prod(shape),
    )


def code_bytes(operand: Operand, shape: tuple[int, int]) -> int:
    """Bytes of the codes of a stored tensor of `shape`, packed."""
    return -(-prod(shape) * operand.spec.format.packed_bits // 8)


def scale_bytes(operand: Operand, shape: tuple[int, int]) -> int:
    """Bytes of the scales over a stored tensor of `shape`, those of an outer level included."""
    levels = [(operand.grid(shape), operand.spec.scale_rule)]
    if (outer := operand.outer_grid(shape)) is not None:
        levels.append((outer, operand.spec.scale_rule.outer))
    return sum(prod(grid.scale_shape) * level.format.bytes for grid, level in levels)


def matmul_rescales(recipe: Recipe, matmul: Matmul, layer: LayerShape) -> int:
    """Rescales per output element of one matmul: 1 is an epilogue, more means inside the K loop."""
    spec = recipe.spec(matmul)
    return rescales_per_output(layer.size(matmul.k), spec.a.tile.k, spec.b.tile.k)
