"""The order in which persistent programs take blocks of D, as items.block_of has it. Pure; no torch."""

import numpy as np
from numpy.typing import NDArray

from kernels.gemm.blocks import Blocks


def numbers(
    blocks: Blocks, mn: tuple[int, int], rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> NDArray[np.int64]:
    """int64[rows, columns]: the numbers of the blocks in which elements of D lie."""
    high, wide = -(-mn[0] // blocks.block_m), -(-mn[1] // blocks.block_n)
    down, right = np.meshgrid(rows // blocks.block_m, columns // blocks.block_n, indexing="ij")
    across, along, place, step = high, wide, down, right
    if blocks.block_m > blocks.block_n:
        across, along, place, step = wide, high, right, down
    first = place // blocks.group * blocks.group
    width = np.minimum(across - first, blocks.group)  # the last group may be narrower
    return first * along + step * width + place - first


def shared(
    blocks: Blocks, mn: tuple[int, int], sms: int, rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """bool[rows, columns]: whether programs share the block of D in which an element lies."""
    return numbers(blocks, mn, rows, columns) >= blocks.whole(*mn, sms)
