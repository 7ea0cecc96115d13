"""The reference quantizer with the random bits that a picture draws."""

import numpy as np

from fp8core.philox import random_bits
from fp8core.quantize import QuantizedTensor, quantize
from fp8core.recipes import Operand


def quantized(x: np.ndarray, operand: Operand, seed: int = 0) -> QuantizedTensor:
    """A corner as the reference quantizes it, with the random bits of a seed."""
    if not operand.spec.is_random:
        return quantize(x, operand)
    bits = random_bits(operand.stored(x.shape), seed)
    return quantize(x, operand, random=bits.T if operand.k_is_rows else bits)
