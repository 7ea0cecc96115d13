"""The costs of a recipe at a layer's true size: scales, bytes, copies, rescales."""

from dataclasses import dataclass

from fp8core.contraction import rescales_per_output
from fp8core.linear import LayerShape, Matmul
from fp8core.recipes import Copy, Recipe
from fp8core.tiles import TileGrid


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
    rows, columns = layer.of(copy.tensor)
    tall, wide = TileGrid.over((rows, columns), copy.tile).scale_shape
    return CopyCost(
        scales=tall * wide,
        code_bytes=-(-rows * columns * copy.spec.format.packed_bits // 8) * len(copy.k_major),
        scale_bytes=tall * wide * copy.spec.scale_rule.format.bytes,
        elements=rows * columns,
    )


def matmul_rescales(recipe: Recipe, matmul: Matmul, layer: LayerShape) -> int:
    """Rescales per output element of one matmul: 1 is an epilogue, more means inside the K loop."""
    spec = recipe.spec(matmul)
    return rescales_per_output(layer.size(matmul.k), spec.a.tile.k, spec.b.tile.k)
