"""Sizes that the warp-specialized kernels and their launcher share."""

SLAB = 64
"""Rows of a wgmma, and of D on its way out."""


WARPGROUP_WARPS = 4


CONSUMERS = 2


THREE = 3
"""Warpgroups that multiply where adding takes as long as multiplying, and slabs of their blocks."""


CHAINED = (128, 256)
"""BLOCK_M × BLOCK_N where the sum stays in the tensor core: one chain over all of K. D is bf16."""


CHAINED_SHARED = ((128, 256), (256, 128), (192, 128), (128, 128), (64, 256), (192, 64), (64, 128))
"""The same for a D of few blocks, which programs may share."""


PARTS, PARTS_UNDER_WAY = 4, 2
"""A warpgroup's half of a chained block leaves in 4 parts; it has memory for 2 of them."""


PROMOTED = (256, 128)
"""BLOCK_M × BLOCK_N where the sum is promoted to fp32 registers."""


THREE_SLABS = (192, 128)
"""The same where D has a number of these that leaves fewer SMs idle."""


LOW = ((64, 128), (128, 128))
"""BLOCK_M × BLOCK_N where the sum is promoted and M is small."""


LENT_STAGES = 3
"""The fewest where D leaves through memory of A: a block's last two are lent while the next one begins."""


PROMOTION = 128


BLOCK_K_BYTES = 128


SCALE_BYTES = 4


BARRIER_BYTES = 512
"""Of shared memory, that is kept for a ring's barriers."""


FEW_SCALES = 32
"""Floats that come with a single scale of B: 128 bytes, the least alignment of a TMA box in shared memory."""


WGMMA = (9, 0)
"""The compute capability that has it."""


TMA_BYTES = 16


LEAST_ROWS = 16
"""Rows of A, at least, that one load brings where M is small."""


NARROW = (SLAB, SLAB // 2)
"""BLOCK_M × BLOCK_N of the narrow body: 4096 columns are 128 blocks, for 132 SMs."""


NARROW_WARPS = 4
"""Warps of the narrow body that multiply; one more loads."""


NARROW_STEPS = 2
"""Steps along K in a stage of the narrow body: one load takes 128 bytes of a row at most."""


CODES = CONSUMERS * SLAB
"""Rows of the operand that is decoded in a block: a warpgroup multiplies a slab of them."""


DECODED_K = 64
"""The least BLOCK_K of the decoding body."""


DECODED_PART_BYTES = 128
"""The most that a warpgroup of the decoding body stores at once of each of its 64 rows or columns of D."""


DECODED_PARTS_UNDER_WAY = 4
"""The most parts of D that it has memory for; more would cost a stage."""


DECODING_BARRIER_BYTES = 1024


MOST_ROWS_SPLIT = 64
"""Rows of values, at most, with which four warpgroups can hold the sums of two runs of K. With so few rows,
decoding takes longer than multiplying.
"""


ROWS_OF_TWO = (96, 160, 192)
"""Rows of values that two wgmma multiply, each a power of two of them."""


MOST_STEP = 8192
"""Rows of values times BLOCK_K, at most, for which four warpgroups can hold sums beside decoded codes."""

MOST_STEP_WIDENED = 4096
"""The same where another warpgroup decodes the rows: it takes registers, too."""

SUM_BYTES = 4

MOST_WIDENED_STEPS, WIDENED_SCALES = 8, 2048
"""Steps along K, and scales, that the warpgroup that decodes the other operand fetches at a time, at most."""


HALF_AN_SM = ((228 << 10) - (2 << 10)) // 2
"""Bytes of shared memory for each of two programs of an SM: CUDA keeps a KiB for either."""


HALF_REGISTERS = 80
"""Registers of a thread, on average, with which an SM holds two programs of the decoding body: three groups
of four warps in each, of which those that multiply take more and the one that loads takes fewer."""

HALF_REGISTERS_WIDENED = 64
"""The same where a fourth group decodes the other operand."""


LEAST_PART, LEAST_SHARE = 4, 8
"""Steps along K, at least, of a part of a block, and of a program's share, where parts are uneven."""
