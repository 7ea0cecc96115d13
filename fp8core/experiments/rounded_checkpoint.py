"""A checkpoint whose scales are rounded up to powers of two when it is read.

The weights were quantized once, in blocks with fp32 scales. A tensor core with E8M0 scales needs powers of
two, in one of two ways:

- made anew: the codes' numbers are quantized again under the new scales (vLLM,
  requant_weight_ue8m0_inplace; pull request 38083): the weights are rounded twice.
- codes kept: only the scales are rounded, so every block grows by 1 to 2 (transformers issue 47030).

Weights quantized with powers of two from the start stand beside them.
"""

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from fp8core.arrays import Float32, Float64
from fp8core.errors import rel_err
from fp8core.experiments.operand_error import tile_sums
from fp8core.linear import FPROP, LayerTensor
from fp8core.quantize import quantized_values
from fp8core.recipes import RECIPES, Operand
from fp8core.scales import E8M0_ROUND_UP, FP32_SCALE
from fp8core.tiles import TileGrid

CHECKPOINT = replace(
    RECIPES["deepseek_v3"].operand(FPROP, FPROP.side_of(LayerTensor.W)).spec, scale_rule=FP32_SCALE
)
"""Quantization of the checkpoint: fp32 scales over square blocks."""
FLOOR = 1e-4
"""Least amax in vLLM's and DeepGEMM's new scales."""
ROUNDED = replace(CHECKPOINT, scale_rule=replace(E8M0_ROUND_UP, amax_floor=FLOOR))


class Reading(Enum):
    AS_MADE = "fp32 scales, as made"
    MADE_ANEW = "rounded up, codes made anew"
    CODES_KEPT = "rounded up, codes kept"
    FROM_START = "powers of two from the start"


@dataclass(frozen=True, kw_only=True)
class CheckpointError:
    """Errors of a way to read the checkpoint, against the weights and the checkpoint.

    `weight`: ‖read - w‖ / ‖w‖. `block_growth`: mean over blocks of <read, checkpoint> / <checkpoint,
    checkpoint>. `changed`: share of elements. `result`: ‖x · readᵀ - x · wᵀ‖ / ‖x · wᵀ‖. `blocks`
    float64[*scale_shape]: error of each block.
    """

    reading: Reading
    weight: float
    checkpoint: float
    result: float
    block_growth: float
    changed: float
    blocks: Float64


def read_checkpoint(w: Float32, reading: Reading) -> Float64:
    """float64[out, in]: numbers that the matmul gets of weights w: float32[out, in]."""
    checkpoint, scale = quantized_values(w, _operand(CHECKPOINT))
    match reading:
        case Reading.AS_MADE:
            return checkpoint
        case Reading.MADE_ANEW:
            return quantized_values(checkpoint.astype(np.float32), _operand(ROUNDED))[0]
        case Reading.CODES_KEPT:
            mantissa, exponent = np.frexp(scale.astype(np.float64))
            power = np.ldexp(1.0, exponent - (mantissa == 0.5))
            return checkpoint * _grid(w.shape).expand(power / scale)
        case Reading.FROM_START:
            return quantized_values(w, _operand(ROUNDED))[0]


def stored_as(reading: Reading) -> Operand:
    return _operand(CHECKPOINT if reading is Reading.AS_MADE else ROUNDED)


def checkpoint_errors(w: Float32, x: Float32) -> tuple[CheckpointError, ...]:
    """Errors of all readings, for w: float32[out, in] and x: float32[tokens, in]."""
    exact = w.astype(np.float64)
    checkpoint = read_checkpoint(w, Reading.AS_MADE)
    wide, truth = x.astype(np.float64), x.astype(np.float64) @ exact.T
    grid = _grid(w.shape)
    errors = []
    for reading in Reading:
        values = read_checkpoint(w, reading)
        energy = tile_sums(checkpoint**2, grid)
        growth = np.divide(
            tile_sums(values * checkpoint, grid), energy, out=np.ones_like(energy), where=energy > 0
        )
        errors.append(
            CheckpointError(
                reading=reading,
                weight=rel_err(values, exact),
                checkpoint=rel_err(values, checkpoint),
                result=rel_err(wide @ values.T, truth),
                block_growth=float(growth.mean()),
                changed=float(np.mean(values != checkpoint)),
                blocks=np.sqrt(tile_sums((values - exact) ** 2, grid) / tile_sums(exact**2, grid)),
            )
        )
    return tuple(errors)


def _operand(spec: object) -> Operand:
    return Operand(spec=spec, k_is_rows=FPROP.k_is_rows(FPROP.side_of(LayerTensor.W)))


def _grid(shape: tuple[int, int]) -> TileGrid:
    return _operand(CHECKPOINT).grid(shape)
