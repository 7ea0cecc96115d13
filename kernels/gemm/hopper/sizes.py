"""Sizes that the warp-specialized kernels and their launcher share."""

SLAB = 64
"""Rows of a wgmma, and of D on its way out."""
WARPGROUP_WARPS = 4
CONSUMERS = 2
CHAINED = (128, 256)
"""BLOCK_M × BLOCK_N of a sum that stays in the tensor core: one chain over all of K."""
PIECES, PIECES_UNDER_WAY = 4, 2
"""A warpgroup's half of a chained block leaves in 4 pieces; it has memory for 2 of them."""
PROMOTED = (256, 128)
"""BLOCK_M × BLOCK_N of a sum that is promoted to fp32 registers."""
LOW = ((64, 64), (64, 128), (128, 64), (128, 128))
"""BLOCK_M × BLOCK_N of small_m: for few rows, or a D of few blocks."""
REUSE_STAGES = 3
"""The fewest where D leaves through memory of A: D reuses a block's last two while the next one begins."""
PROMOTION = 128
"""Products of a sum between promotions, and the side of a square of B with one scale in the K loop."""
BLOCK_K_BYTES = 128
SCALE_BYTES = 4
FEW_SCALES = 32
"""Floats that come with a single scale of B: 128 bytes, the least alignment of a TMA box in shared memory."""
TMA_BYTES = 16
CODES = CONSUMERS * SLAB
"""Rows of the decoded operand in a block: a warpgroup multiplies a slab of them."""
DECODED_K = 64
"""The least BLOCK_K of the decoding variant."""
DECODED_PIECE_BYTES = 128
"""The most of each of its 64 rows or columns of D that a warpgroup of the decoding variant stores at once."""
MOST_ROWS = 256
"""Rows of a block of values, at most, in the decoding variant."""
MOST_ROWS_SPLIT = 64
"""Rows of values, at most, with which four warpgroups can hold the sums of two splits of K."""
