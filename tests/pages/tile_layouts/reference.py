"""The reference quantizer with the random bits that a picture draws."""

import numpy as np

from fp8core.formats import FORMATS
from fp8core.quantize import QuantizedTensor, quantize, random_of
from fp8core.recipes import Operand
from pages.tile_layouts.charts.scene import CornerOperand


def quantized(x: np.ndarray, operand: Operand, seed: int = 0) -> QuantizedTensor:
    """A corner as the reference quantizes it, with the random bits of a seed."""
    return quantize(x, operand, random=random_of(operand, x.shape, seed))


def multiplied(corner: CornerOperand, seed: int = 0) -> np.ndarray:
    """The numbers that a matmul multiplies, scales included, as the reference gives them."""
    if corner.operand is None:
        return corner.corner.astype(FORMATS["bf16"].ml_dtype).astype(np.float64)
    return quantized(corner.corner, corner.operand, seed).exact_values()
