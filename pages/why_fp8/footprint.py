"""Bytes of one linear layer in training or inference: in bf16, and in a recipe with all its copies."""

from fp8core.costs import code_bytes, copy_cost, scale_bytes
from fp8core.formats import FORMATS
from fp8core.linear import FPROP, WGRAD, LayerShape, LayerTensor, Side
from fp8core.recipes import Operand, Recipe
from pages.kit.recipes import by_family
from pages.kit.sourced import Measured, sourced

WEIGHT, WEIGHT_COPIES, INPUT, GRADIENT, RESULT = (
    "weight to update",
    "weight to multiply",
    "x for Wgrad",
    "dy and its copies",
    "y",
)
SHORT = {WEIGHT: "w", WEIGHT_COPIES: "w again", INPUT: "x", GRADIENT: "dy", RESULT: "y"}
"""The pieces, and their short names."""
FORWARD, BACKWARD, INFERENCE = "forward", "backward", "inference"
NO_MASTER = "none"
MIB = 1 << 20
_BF16 = "bf16"


def first_recipes() -> list[Recipe]:
    """The recipes side by side: the first of each family."""
    return [recipes[0] for recipes in by_family().values()]


def footprint(recipe: Recipe | None, layer: LayerShape, moment: str, weights: str) -> dict[str, int]:
    """Bytes by piece; a recipe of None is bf16. `weights` is the format of the weight that is updated.

    After the forward pass the weight has the copy that Fprop read, x the one that Wgrad will read, and y is
    in bf16. In the backward pass y is gone, dy has come, and all copies of w and dy are there. Inference
    keeps no weight to update and no x.
    """
    w = _bytes(layer, LayerTensor.W, _BF16 if weights == NO_MASTER else weights)
    keeps_w = moment != INFERENCE and weights != NO_MASTER
    pieces = {
        WEIGHT: w if keeps_w else 0,
        WEIGHT_COPIES: _weight(recipe, layer, moment),
        INPUT: 0 if moment == INFERENCE else _input(recipe and recipe.operand(WGRAD, Side.B), layer),
        GRADIENT: _gradient(recipe, layer) if moment == BACKWARD else 0,
        RESULT: 0 if moment == BACKWARD else _bytes(layer, LayerTensor.Y, _BF16),
    }
    if recipe is None and keeps_w and weights == _BF16:
        pieces[WEIGHT_COPIES] = 0  # A bf16 weight is multiplied as it is.
    return pieces


def total(recipe: Recipe | None, layer: LayerShape, moment: str, weights: str) -> int:
    """All bytes of the layer."""
    return sum(footprint(recipe, layer, moment, weights).values())


def counted_mib(one: Measured) -> float:
    """The page's own sum for a measured case; the first recipe stands for FP8, as there: a scale a tensor."""
    recipe = first_recipes()[0] if one.quantized else None
    return total(recipe, LayerShape(one.tokens, one.in_, one.out), one.moment, one.weights) / MIB


HEAD_OF_CHECKS = ("layer of the source", "measured there", "counted here", "apart")


def checks() -> list[tuple[str, ...]]:
    """A line a measured case: the page's sum beside memory that another program measured."""
    return [
        (one.name, f"{one.mib:.2f} MiB", f"{counted:.2f} MiB", f"{one.mib / counted - 1:+.1%}")
        for one in sourced().measured
        for counted in [counted_mib(one)]
    ]


def _weight(recipe: Recipe | None, layer: LayerShape, moment: str) -> int:
    """The weight as matmuls read it: the copy for Fprop, or in the backward pass all copies and layouts."""
    operand = recipe and recipe.operand(FPROP, Side.B)
    if recipe is None or operand is None:
        return _bytes(layer, LayerTensor.W, _BF16)
    if moment == BACKWARD:
        return _copies(recipe, layer, LayerTensor.W)
    return _quantized(operand, layer.of(LayerTensor.W))


def _gradient(recipe: Recipe | None, layer: LayerShape) -> int:
    """dy in bf16, with its quantized copies."""
    copies = 0 if recipe is None else _copies(recipe, layer, LayerTensor.DY)
    return _bytes(layer, LayerTensor.DY, _BF16) + copies


def _input(operand: Operand | None, layer: LayerShape) -> int:
    """x as it waits for Wgrad: quantized, or in bf16 where Wgrad reads it so."""
    if operand is None:
        return _bytes(layer, LayerTensor.X, _BF16)
    return _quantized(operand.saved or operand, layer.of(LayerTensor.X))


def _copies(recipe: Recipe, layer: LayerShape, tensor: LayerTensor) -> int:
    costs = [copy_cost(copy, layer) for copy in recipe.quantized_copies(tensor)]
    return sum(cost.code_bytes + cost.scale_bytes for cost in costs)


def _quantized(operand: Operand, shape: tuple[int, int]) -> int:
    return code_bytes(operand, shape) + scale_bytes(operand, shape)


def _bytes(layer: LayerShape, tensor: LayerTensor, format_: str) -> int:
    rows, columns = layer.of(tensor)
    return rows * columns * FORMATS[format_].packed_bits // 8
