"""The data of "Tile layouts": scenes from the reference quantizer, and their charts."""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from fp8core.inputs import OUTLIER_EVERY, InputKind, draw_operand
from fp8core.linear import MATMULS, OPERANDS, LayerShape, LayerTensor, Matmul, Side
from fp8core.quantize import scales
from fp8core.recipes import Copy, Recipe
from pages.tile_layouts.charts.operand import DrawnOperand
from pages.tile_layouts.charts.scene import (
    CopyScene,
    Scene,
    drawn_copy_shape,
    drawn_layer,
    layer_to_scale,
)

Draw = Callable[[LayerTensor, tuple[int, int]], NDArray[np.float32]]
"""The corner of a stored tensor, by the tensor and the corner's (rows, columns)."""


def numbers(
    kind: str, tensor: LayerTensor, shape: tuple[int, int], seed: int, fan_in: int
) -> NDArray[np.float32]:
    """float32[rows, columns]: a corner of x, w or dy of a layer of `fan_in`.

    A narrow corner of x still holds an outlier channel.
    """
    return draw_operand(
        InputKind(kind),
        tensor,
        shape,
        seed * len(OPERANDS) + OPERANDS.index(tensor),
        fan_in=fan_in,
        outlier_every=min(OUTLIER_EVERY, max(shape[1] // 2, 2)),
    )


def scene(recipe: Recipe, matmul: Matmul, kind: str, seed: int, layer: LayerShape) -> Scene:
    """One matmul of a recipe on the corner of the layer that is drawn."""
    drawn = drawn_layer(matmul, recipe.spec(matmul), layer)
    return _scene(recipe, matmul, layer, drawn, _draw(kind, seed, layer), seed)


def _draw(kind: str, seed: int, layer: LayerShape) -> Draw:
    return lambda tensor, shape: numbers(kind, tensor, shape, seed, layer.in_)


def _scene(
    recipe: Recipe, matmul: Matmul, layer: LayerShape, drawn: LayerShape, draw: Draw, seed: int
) -> Scene:
    operands = {}
    for side in Side:
        tensor = matmul.operand(side)
        given = draw(tensor, drawn.of(tensor))
        operands[side] = DrawnOperand.of(given, recipe.operand(matmul, side), seed)
    return Scene(
        recipe=recipe,
        matmul=matmul,
        layer=layer,
        drawn=drawn,
        a=operands[Side.A],
        b=operands[Side.B],
    )


def copy_scene(copy: Copy, kind: str, seed: int, layer: LayerShape) -> CopyScene:
    """The scales of one copy on the corner of its tensor that is drawn."""
    shape = drawn_copy_shape(copy, layer.of(copy.tensor))
    return CopyScene(
        copy=copy,
        shape=layer.of(copy.tensor),
        grid=copy.operand.grid(shape),
        scales=scales(numbers(kind, copy.tensor, shape, seed, layer.in_), copy.operand),
    )


def overview_scenes(recipes: Sequence[Recipe], kind: str, seed: int, layer: LayerShape) -> list[Scene]:
    """Every matmul of these recipes. Pictures of equal corners share their numbers."""
    draw = cache(_draw(kind, seed, layer))
    return [
        _scene(recipe, matmul, layer, layer_to_scale(matmul, recipe.spec(matmul), layer), draw, seed)
        for matmul in MATMULS.values()
        for recipe in recipes
    ]


def copy_scenes(
    recipe: Recipe, tensor: LayerTensor, kind: str, seed: int, layer: LayerShape
) -> list[CopyScene]:
    """The quantized copies of one stored tensor that a training step needs."""
    return [copy_scene(copy, kind, seed, layer) for copy in recipe.quantized_copies(tensor)]
