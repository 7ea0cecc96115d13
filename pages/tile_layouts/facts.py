"""Facts of the page "Tile layouts" for the lesson, computed by what the page draws from."""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from fp8core.contraction import rescales_per_output
from fp8core.costs import bits_per_element, copy_cost, matmul_rescales
from fp8core.formats import FORMATS
from fp8core.linear import MATMULS, OPERANDS, LayerShape, LayerTensor, Matmul, Side
from fp8core.recipes import RECIPES, Copy, Recipe
from pages.kit.charts.words import stored_tile
from pages.kit.shared_controls import MATMUL, RECIPE
from pages.tile_layouts.controls import A_K, ALL_CONTROLS, B_K, IN, OUT, TOKENS, extent_of

Settings = Mapping[str, Any]

CONTROLS = ALL_CONTROLS


def _recipe(settings: Settings) -> Recipe:
    return RECIPES[settings[RECIPE.key]]


def _matmul(settings: Settings) -> Matmul:
    return MATMULS[settings[MATMUL.key]]


def _layer(settings: Settings) -> LayerShape:
    return LayerShape(settings[TOKENS.key], settings[IN.key], settings[OUT.key])


def _k_size(settings: Settings) -> int:
    """The length of the sums of the matmul."""
    return _layer(settings).size(_matmul(settings).k)


def _chosen_rescales(settings: Settings) -> int:
    """The rescales of an output under the tiles of "The rule"."""
    return rescales_per_output(_k_size(settings), *(extent_of(settings[one.key]) for one in (A_K, B_K)))


def _x_tile(settings: Settings) -> str:
    """The tile of x as the matmul reads it, such as ``1 × 128``."""
    matmul = _matmul(settings)
    side = matmul.side_of(LayerTensor.X)
    operand = None if side is None else _recipe(settings).operand(matmul, side)
    return "none" if operand is None else stored_tile(LayerTensor.X, *operand.tile)


def _copies(settings: Settings) -> list[Copy]:
    """The quantized copies of a training step."""
    return [copy for tensor in OPERANDS for copy in _recipe(settings).quantized_copies(tensor)]


def _bytes_of_bf16(settings: Settings) -> float:
    """The bytes of all copies, over those of x, w and dy in bf16."""
    layer = _layer(settings)
    bits = sum(
        prod(layer.of(copy.tensor)) * bits_per_element(copy.operand, layer.of(copy.tensor))
        for copy in _copies(settings)
    )
    return bits / sum(FORMATS["bf16"].bits * prod(layer.of(tensor)) for tensor in OPERANDS)


def _scale_share(settings: Settings) -> float:
    """The bytes of all scales, over those of all codes."""
    costs = [copy_cost(copy, _layer(settings)) for copy in _copies(settings)]
    return sum(cost.scale_bytes for cost in costs) / sum(cost.code_bytes for cost in costs)


def _operand_bits(settings: Settings) -> float:
    """The bits of an element of A, its share of the scales included."""
    matmul = _matmul(settings)
    operand = _recipe(settings).operand(matmul, Side.A)
    return bits_per_element(operand, _layer(settings).of(matmul.a))


FACTS: dict[str, Callable[[Settings], float | int | str]] = {
    "k_axis": lambda settings: _matmul(settings).k.value,
    "k_size": _k_size,
    "chosen_rescales": _chosen_rescales,
    "rescales": lambda settings: matmul_rescales(_recipe(settings), _matmul(settings), _layer(settings)),
    "x_tile": _x_tile,
    "copies": lambda settings: len(_copies(settings)),
    "bytes_of_bf16": _bytes_of_bf16,
    "scale_share": _scale_share,
    "operand_bits": _operand_bits,
}
