"""Refolding: the power-of-two scales of neighboring tiles become one, and the codes move to it.

A tensor core without scales, as Hopper's, needs one scale for REFOLDED_K elements between two promotions.
Operand A gets a scale for each LINE, B one for each SQUARE, as DeepSeek-V3's activations and weights. Out of
lines of 1 × t along K, t a divisor of REFOLDED_K:

    S     = the largest of the scales s in a refolded tile
    code  = encode(decode(code) · (s / S)), nearest even: s / S is 1, 1/2, 1/4 …, and nothing saturates
    a NaN among these s: S is NaN, and the tile keeps its codes: times S, each is NaN

S is an fp32 scale. A zero tile has the smallest scale, so it never decides. The value code · S equals
code · s, except where |code · s| < min_normal · S: only multiples of min_subnormal · S are left there, an
error of at most half such a step. In a square, a row far below the largest loses most. Each factor of two
between s and S costs a tile one binade of its format's normal numbers; e4m3 has 15.

Tiles can change after quantizing because only exponents move. DeepSeek-V3 keeps powers of two for activations
that it turns from 1x128 tiles into 128x1 (arXiv 2412.19437, section 3.3.3); its weights have 128x128 tiles
from the start (section 3.3.2). Its Wgrad takes both operands in lines; here x gets squares.
"""

from dataclasses import replace

import numpy as np

from fp8core.accumulators import ACCUMULATORS
from fp8core.checks import instance
from fp8core.linear import Side
from fp8core.quantize import QuantizedTensor
from fp8core.recipes import OperandSpec
from fp8core.scales import FP32_SCALE
from fp8core.tiles import WHOLE, TileGrid, TileShape

REFOLDED_K = ACCUMULATORS["hopper_promoted"].promotion
"""Elements along K of a refolded tile: the products between promotions on Hopper."""
LINE, SQUARE = TileShape(1, REFOLDED_K), TileShape(REFOLDED_K, REFOLDED_K)
REFOLDED_TILES = {Side.A: LINE, Side.B: SQUARE}
"""Tiles of a matmul's refolded operands: those of DeepSeek-V3's Fprop."""


def refolded(spec: OperandSpec, tile: TileShape) -> OperandSpec:
    """Operand with one fp32 scale for each `tile`, LINE or SQUARE, all else unchanged.

    Raises ValueError for bf16, another tile, scales that are no powers of two, and tiles that do not fold.
    """
    instance("an operand to refold", spec, OperandSpec)
    if tile not in REFOLDED_TILES.values():
        raise ValueError(f"refolding makes tiles of {LINE} or {SQUARE}, not {tile}")
    if not spec.scale_rule.powers_of_two or spec.scale_rule.outer is not None:
        raise ValueError(
            "refolding shifts codes by ratios of scales, so these have to be powers of two of one level, "
            f"got {spec.scale_rule.words}"
        )
    mn, k = spec.tile.mn, spec.tile.k
    if mn != 1 or k is WHOLE or k >= REFOLDED_K or REFOLDED_K % k:
        raise ValueError(
            f"refolding makes one scale for {tile.mn} × {tile.k} out of those of shorter lines along K, "
            f"got {spec.tile}"
        )
    return replace(spec, tile=tile, scale_rule=FP32_SCALE)


def refold(tensor: QuantizedTensor, tile: TileShape) -> QuantizedTensor:
    """Refold a quantized tensor to LINE or SQUARE. Raises ValueError as `refolded`."""
    operand = replace(tensor.operand, spec=refolded(tensor.spec, tile))
    grid, format_ = operand.grid(tensor.codes.shape), operand.spec.format
    folds = operand.stored((tile.mn, tile.k // tensor.spec.tile.k))
    largest = TileGrid.over(tensor.scale.shape, folds).amax(tensor.scale)
    ratio = tensor.grid.expand(tensor.scale).astype(np.float64) / grid.expand(largest)
    moves = ratio < 1
    values = format_.decode(tensor.codes) * np.where(moves, ratio, 1)
    codes = np.where(moves, format_.encode(values), tensor.codes)
    return QuantizedTensor(operand=operand, codes=codes.astype(np.uint8), scale=largest)
