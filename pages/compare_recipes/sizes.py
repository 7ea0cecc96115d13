"""Accuracy against tile size, and its price.

The pool's processes import this module: it imports no Streamlit and no Altair.
"""

from fp8core.experiments.error_curves import (
    Counted,
    drawn_bands,
    extents_up_to,
    line_tile,
    over_tiles,
    square_tile,
)
from fp8core.formats import FORMATS
from fp8core.inputs import InputKind
from fp8core.recipes import Operand, OperandSpec
from fp8core.scales import SCALE_RULES
from pages.compare_recipes.charts.scene import SizeCurve

RULES = {"fp32": "fp32", "e8m0_round_up": "power of two"}
"""The scales that are compared, with what a reader calls them."""
LINE, SQUARE = "1 × k", "k × k"
TILES = {LINE: line_tile, SQUARE: square_tile}
CURVES = tuple((rule, tile) for tile in TILES for rule in RULES)
"""Every rule in every kind of tile."""


def curve_name(rule: str, tile: str) -> str:
    """A curve in words, such as ``fp32, 1 × k``."""
    return f"{RULES[rule]}, {tile}"


def size_curve(
    rule: str, tile: str, format_name: str, kind: str, seed: int, extents: tuple[int, ...] | None = None
) -> SizeCurve:
    """The curve of one scale rule in tiles of one kind; all extents unless some are named."""
    drawn = drawn_bands(InputKind(kind), seed)
    spec = OperandSpec(format=FORMATS[format_name], tile=line_tile(1), scale_rule=SCALE_RULES[rule])
    operand = Operand(spec=spec, k_is_rows=False)
    at = extents_up_to(drawn[0].shape[1]) if extents is None else extents
    every, small = (
        over_tiles(operand, drawn, at, counted, TILES[tile])
        for counted in (Counted.ALL, Counted.SMALLER_HALF)
    )
    return SizeCurve(every=every, small=small)
