"""Refolding: the power-of-two scales of neighboring tiles along K become one, and the codes move to it.

For a tensor core that takes no scales itself, as Hopper's: with one scale for REFOLDED_K elements it sums as
many products as between two promotions anyway. For lines of 1 × t along K, t a divisor of REFOLDED_K:

    S     = the largest of the scales s of the up to REFOLDED_K / t tiles in a stretch of REFOLDED_K
    code  = encode(decode(code) · (s / S)), nearest even: s / S is 1, 1/2, 1/4 …, and nothing saturates
    a NaN among these s: S is NaN, and the stretch keeps its codes: times S, each is NaN

S is an fp32 scale. A zero tile has the smallest scale there is, so it never decides. The value code · S is
code · s as it was, except where |code · s| < min_normal · S: there only multiples of min_subnormal · S are
left, so it is off by at most half of that, and what is at most that half itself vanishes.

Tiles can be changed after quantizing because only exponents move: DeepSeek-V3 keeps powers of two for the
activations that it turns from 1x128 tiles into 128x1 (arXiv 2412.19437, section 3.3.3).
"""

from dataclasses import replace

import numpy as np

from fp8core.accumulators import ACCUMULATORS
from fp8core.quantize import QuantizedTensor
from fp8core.recipes import OperandSpec
from fp8core.scales import FP32_SCALE, ScaleKind
from fp8core.tiles import WHOLE, TileGrid, TileShape

REFOLDED_K = ACCUMULATORS["hopper_promoted"].promotion
"""Elements along K of a refolded tile: the products after which Hopper's sum is promoted."""


def refolded(spec: OperandSpec) -> OperandSpec:
    """What an operand is after refolding: as before, with an fp32 scale for 1 × REFOLDED_K.

    Raises ValueError for scales that are no powers of two and for tiles that do not fold.
    """
    if spec.scale.kind is ScaleKind.FP32:
        raise ValueError(
            "refolding shifts codes by ratios of scales, so these have to be powers of two, not fp32"
        )
    mn, k = spec.tile.mn, spec.tile.k
    if mn != 1 or k is WHOLE or k >= REFOLDED_K or REFOLDED_K % k:
        raise ValueError(
            f"refolding makes one scale for 1 × {REFOLDED_K} out of those of shorter lines along K, "
            f"got {spec.tile}"
        )
    return replace(spec, tile=TileShape(1, REFOLDED_K), scale=FP32_SCALE)


def refolded_grid(grid: TileGrid, spec: OperandSpec, *, k_is_rows: bool) -> TileGrid:
    """The tiles of a refolded `spec` over the stored tensor of a grid."""
    tile = (spec.tile.mn, spec.tile.k)
    return TileGrid.over(grid.shape, tile[::-1] if k_is_rows else tile)


def refold(operand: QuantizedTensor, *, k_is_rows: bool = False) -> QuantizedTensor:
    """Refold a quantized tensor; `k_is_rows`: K runs down its rows. Raises ValueError as `refolded` does."""
    spec = refolded(operand.spec)
    grid = refolded_grid(operand.grid, spec, k_is_rows=k_is_rows)
    scale = operand.scale.T if k_is_rows else operand.scale
    folds = REFOLDED_K // operand.spec.tile.k
    padded = np.pad(scale, ((0, 0), (0, -scale.shape[1] % folds)))
    largest = padded.reshape(len(padded), padded.shape[1] // folds, folds).max(axis=2)
    largest = np.ascontiguousarray(largest.T if k_is_rows else largest)
    ratio = operand.grid.expand(operand.scale).astype(np.float64) / grid.expand(largest)
    moves = ratio < 1
    values = spec.format.decode(operand.codes) * np.where(moves, ratio, 1)
    codes = np.where(moves, spec.format.encode(values), operand.codes)
    return QuantizedTensor(codes=codes.astype(np.uint8), scale=largest, grid=grid, spec=spec)
