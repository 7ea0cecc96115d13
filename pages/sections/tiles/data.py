"""The data of "Tile layouts": scenes from the reference quantizer, and their charts, kept between runs.

A kept function depends only on its arguments: names, numbers and the theme, nothing of the session.
"""

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from fp8core.inputs import OUTLIER_EVERY, InputKind, draw_operand
from fp8core.linear import MATMULS, OPERANDS, LayerShape, LayerTensor, Side
from fp8core.quantize import quantize
from fp8core.recipes import RECIPES, Copy
from pages.kit.charts.ink import INKS
from pages.sections.tiles.charts.copies import copies_chart
from pages.sections.tiles.charts.marks import Spec
from pages.sections.tiles.charts.overview import OVERVIEW_ELEMENTS, overview
from pages.sections.tiles.charts.picture import tile_picture
from pages.sections.tiles.charts.scene import (
    FREE_ELEMENTS,
    CopyScene,
    DrawnOperand,
    Scene,
    drawn_copy_shape,
    drawn_layer,
)

KEPT = 256


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


def scene(
    recipe_name: str,
    matmul_name: str,
    kind: str,
    seed: int,
    layer: LayerShape,
    elements: int = FREE_ELEMENTS,
) -> Scene:
    """One matmul of a recipe on the corner of the layer that is drawn, its operands quantized."""
    recipe, matmul = RECIPES[recipe_name], MATMULS[matmul_name]
    drawn = drawn_layer(matmul, recipe.spec(matmul), layer, elements)
    operands = {}
    for side in Side:
        tensor = matmul.operand(side)
        x = numbers(kind, tensor, drawn.of(tensor), seed, layer.in_)
        quantized = quantize(x, recipe.operand(matmul, side))
        operands[side] = DrawnOperand(x=x, quantized=quantized, amax=quantized.grid.amax(x))
    return Scene(
        recipe=recipe,
        matmul=matmul,
        layer=layer,
        drawn=drawn,
        a=operands[Side.A],
        b=operands[Side.B],
    )


def copy_scene(copy: Copy, kind: str, seed: int, layer: LayerShape) -> CopyScene:
    """One quantized copy on the corner of its tensor that is drawn."""
    shape = drawn_copy_shape(copy, layer.of(copy.tensor))
    return CopyScene(
        copy=copy,
        shape=layer.of(copy.tensor),
        quantized=quantize(numbers(kind, copy.tensor, shape, seed, layer.in_), copy.operand),
    )


@st.cache_data(max_entries=KEPT, show_spinner=False)
def picture_spec(
    recipe: str, matmul: str, kind: str, seed: int, tokens: int, in_: int, out: int, theme: str
) -> Spec:
    """The big picture of a matmul."""
    layer = LayerShape(tokens, in_, out)
    return tile_picture(scene(recipe, matmul, kind, seed, layer), INKS[theme])


@st.cache_data(max_entries=KEPT, show_spinner=False)
def overview_spec(kind: str, seed: int, tokens: int, in_: int, out: int, theme: str) -> Spec:
    """Every recipe and matmul."""
    layer = LayerShape(tokens, in_, out)
    scenes = [
        scene(recipe, matmul, kind, seed, layer, OVERVIEW_ELEMENTS)
        for matmul in MATMULS
        for recipe in RECIPES
    ]
    return overview(scenes, INKS[theme])


@st.cache_data(max_entries=KEPT, show_spinner=False)
def copies_spec(
    recipe: str, tensor: str, kind: str, seed: int, tokens: int, in_: int, out: int, theme: str
) -> Spec:
    """One stored tensor and the quantized copies of it that a training step needs."""
    layer = LayerShape(tokens, in_, out)
    copies = RECIPES[recipe].quantized_copies(LayerTensor(tensor))
    scenes = [copy_scene(copy, kind, seed, layer) for copy in copies]
    return copies_chart(LayerTensor(tensor), layer, scenes, INKS[theme])
