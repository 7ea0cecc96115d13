"""Rotation of a tensor before it is quantized."""

import numpy as np
from numpy.typing import NDArray

from fp8core.formats import FORMATS
from fp8core.rotations import Rotation, hadamard

ROTATED = FORMATS["bf16"]
"""Format of rotated numbers in memory: Transformer Engine's kernel writes bf16."""


def rotated(x: NDArray[np.float32], rotation: Rotation, k_is_rows: bool) -> NDArray[np.float32]:
    """float32[rows, columns]: each run of K times the Hadamard matrix, in fp32, then rounded to bf16.

    Signs multiply first, then butterflies from neighbors outward, then 1/sqrt(size), each rounded to fp32. A
    shorter last run of K is only rounded to bf16, in both operands, so the product holds.
    """
    operand = np.ascontiguousarray(x.T) if k_is_rows else x
    whole = operand.shape[1] // rotation.size * rotation.size
    with np.errstate(invalid="ignore", over="ignore"):
        turned = hadamard(operand[:, :whole], rotation.size, rotation.signs)
        found = np.concatenate([turned, operand[:, whole:]], axis=1)
        found = found.astype(ROTATED.ml_dtype).astype(np.float32)
    return found.T if k_is_rows else found
