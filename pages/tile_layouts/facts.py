"""Facts of the page "Tile layouts" for the lesson, computed by what the page draws from."""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from fp8core.contraction import rescales_per_output
from fp8core.costs import CopyCost, bits_per_element, copy_cost, matmul_rescales
from fp8core.formats import FORMATS
from fp8core.linear import MATMULS, OPERANDS, LayerShape, LayerTensor, Matmul, Side
from fp8core.recipes import RECIPES, Recipe
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


def k_axis(settings: Settings) -> str:
    """The layer's axis that the matmul sums over."""
    return _matmul(settings).k.value


def k_size(settings: Settings) -> int:
    """The length of the sums of the matmul."""
    return _layer(settings).size(_matmul(settings).k)


def chosen_rescales(settings: Settings) -> int:
    """How often an output is rescaled under the tiles that are chosen under "The rule"."""
    return rescales_per_output(k_size(settings), *(extent_of(settings[c.key]) for c in (A_K, B_K)))


def rescales(settings: Settings) -> int:
    """How often an output is rescaled under the recipe."""
    return matmul_rescales(_recipe(settings), _matmul(settings), _layer(settings))


def x_tile(settings: Settings) -> str:
    """The tile of x as the matmul reads it, such as ``1 × 128``."""
    matmul = _matmul(settings)
    side = matmul.side_of(LayerTensor.X)
    operand = None if side is None else _recipe(settings).operand(matmul, side)
    return "none" if operand is None else stored_tile(LayerTensor.X, *operand.tile)


def _costs(settings: Settings) -> list[CopyCost]:
    """What each quantized copy of the recipe costs."""
    recipe = _recipe(settings)
    return [copy_cost(copy, _layer(settings)) for t in OPERANDS for copy in recipe.quantized_copies(t)]


def copies(settings: Settings) -> int:
    """The number of quantized copies in a training step."""
    return len(_costs(settings))


def bytes_of_bf16(settings: Settings) -> float:
    """The bytes of all copies, over those of x, w and dy in bf16."""
    layer, bits = _layer(settings), FORMATS["bf16"].bits
    copied = sum(
        prod(layer.of(copy.tensor)) * bits_per_element(copy.operand, layer.of(copy.tensor))
        for tensor in OPERANDS
        for copy in _recipe(settings).quantized_copies(tensor)
    )
    return copied / sum(bits * prod(layer.of(tensor)) for tensor in OPERANDS)


def scale_share(settings: Settings) -> float:
    """The bytes of all scales, over those of all codes."""
    costs = _costs(settings)
    return sum(cost.scale_bytes for cost in costs) / sum(cost.code_bytes for cost in costs)


def operand_bits(settings: Settings) -> float:
    """The bits of an element of A, its share of the scales included."""
    matmul = _matmul(settings)
    operand = _recipe(settings).operand(matmul, Side.A)
    return bits_per_element(operand, _layer(settings).of(matmul.a))


FACTS: dict[str, Callable[[Settings], float | int | str]] = {
    "k_axis": k_axis,
    "k_size": k_size,
    "chosen_rescales": chosen_rescales,
    "rescales": rescales,
    "x_tile": x_tile,
    "copies": copies,
    "bytes_of_bf16": bytes_of_bf16,
    "scale_share": scale_share,
    "operand_bits": operand_bits,
}
