"""Accuracy against tile size: work for the pool, without Streamlit and Altair."""

from dataclasses import dataclass

from fp8core.experiments.error_curves import (
    Counted,
    Draws,
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

RULES = {"fp32": "fp32", "e8m0_round_up": "power of two"}  # scale rules, and the reader's words for them
LINE, SQUARE = "1 × k", "k × k"
TILES = {LINE: line_tile, SQUARE: square_tile}
CURVES = tuple((rule, tile) for tile in TILES for rule in RULES)


@dataclass(frozen=True, kw_only=True)
class SizeCurve:
    """SQNR of all elements and of their smaller half, a point an extent."""

    every: tuple[Draws, ...]
    small: tuple[Draws, ...]


def small_error(draws: Draws) -> tuple[float, float, float]:
    """‖e‖ / ‖x‖: of the mean decibels, in the best draw, in the worst."""
    mean, low, high = (10 ** (-sqnr / 20) for sqnr in (draws.mean, draws.high, draws.low))
    return mean, low, high


def curve_name(rule: str, tile: str) -> str:
    return f"{RULES[rule]}, {tile}"


def size_curve(
    rule: str, tile: str, format_name: str, kind: str, seed: int, extents: tuple[int, ...] | None = None
) -> SizeCurve:
    bands = drawn_bands(InputKind(kind), seed)
    spec = OperandSpec(format=FORMATS[format_name], tile=line_tile(1), scale_rule=SCALE_RULES[rule])
    operand = Operand(spec=spec, k_is_rows=False)
    at = extents_up_to(bands[0].shape[1]) if extents is None else extents
    every, small = (
        over_tiles(operand, bands, at, part, TILES[tile]) for part in (Counted.ALL, Counted.SMALLER_HALF)
    )
    return SizeCurve(every=every, small=small)
