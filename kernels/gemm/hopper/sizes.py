"""Sizes that the warp-specialized kernels and their launcher share."""

SLAB = 64
"""Rows of a wgmma, and of D on its way out."""


CONSUMERS = 2


PINGPONG = (128, 128)
"""BLOCK_M × BLOCK_N where the sum stays in the tensor core: each warpgroup has a block to itself."""


COOPERATIVE = (128, 256)
"""The same where the warpgroups share one, of a D of bf16."""


PARTS, PARTS_UNDER_WAY = 4, 2
"""In which a warpgroup's half of such a block leaves; of which it has room for two."""


PROMOTED = (256, 128)


LOW = ((64, 128), (128, 128))
"""The same where M is few."""


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


_TMA_BYTES = 16


_LEAST_ROWS = 16
