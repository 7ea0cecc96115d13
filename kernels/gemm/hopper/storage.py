"""Shared memory of a warp-specialized kernel: how many bytes a stage takes, and how many stages fit."""

from fp8core.formats import FORMATS
from fp8core.recipes import MatmulSpec
from fp8core.tiles import WHOLE
from kernels.device import Device
from kernels.gemm.blocks import Blocks
from kernels.gemm.hopper.sizes import (
    _LEAST_ROWS,
    BARRIER_BYTES,
    BLOCK_K_BYTES,
    CHAINED,
    CONSUMERS,
    FEW_SCALES,
    LOW,
    PARTS,
    PARTS_UNDER_WAY,
    PROMOTED,
    SCALE_BYTES,
    SLAB,
)
from kernels.gemm.meaning import ScaleAt


def stage_bytes(spec: MatmulSpec, scale_at: ScaleAt, block_m: int, block_n: int) -> int:
    """Shared memory of one stage: blocks of A and B, and their scales where they change along K."""
    codes = (block_m + block_n) * BLOCK_K_BYTES
    if scale_at is not ScaleAt.K_LOOP:
        return codes
    return codes + (block_m + b_scales_loaded(spec, block_n)) * SCALE_BYTES


def loaded_rows(blocks: Blocks, m: int) -> int:
    """Rows of A that one stage loads, a power of two: of a low block that has more than M, not all."""
    if (blocks.block_m, blocks.block_n) not in LOW:
        return blocks.block_m
    return rows_loaded(blocks.block_m, m)


def rows_loaded(block_m: int, m: int) -> int:
    """Of a block, where there are so many: a power of two."""
    return min(block_m, max(_LEAST_ROWS, 1 << (m - 1).bit_length()))


def b_scales_loaded(spec: MatmulSpec, block_n: int) -> int:
    """Scales of B that one stage loads."""
    return block_n if spec.b.tile.mn == 1 else FEW_SCALES


def lent(spec: MatmulSpec, scale_at: ScaleAt, block_m: int, block_n: int, promotion: object) -> bool:
    """Whether a block's D leaves through memory of the A that gave it, that of its last two stages: one of
    bf16 whose sums are promoted, unless the scales of columns take the registers.
    """
    many = scale_at is ScaleAt.K_LOOP and spec.b.tile.mn == 1
    promoted = promotion is not WHOLE and (block_m, block_n) == PROMOTED
    return promoted and spec.out == FORMATS["bf16"] and not many


def buffers(
    spec: MatmulSpec, scale_at: ScaleAt, promotion: object, blocks: Blocks, shared_memory_bytes: int
) -> int:
    """Parts of D that a warpgroup has memory for: none of its own where that of A is lent; two of a shared
    block, and where they fit and it has two slabs; else one.
    """
    sides = (blocks.block_m, blocks.block_n)
    if lent(spec, scale_at, *sides, promotion):
        return 0
    if sides == CHAINED:
        return PARTS_UNDER_WAY
    ring = blocks.stages * stage_bytes(spec, scale_at, *sides)
    two = 2 * _out_bytes(spec, *sides)
    rest = end_scale_bytes(scale_at, *sides) + BARRIER_BYTES
    return 2 if ring + two + rest <= shared_memory_bytes and sides == PROMOTED else 1


def _stages(
    spec: MatmulSpec, scale_at: ScaleAt, block_m: int, block_n: int, promotion: object, device: Device
) -> int:
    own = not lent(spec, scale_at, block_m, block_n, promotion)
    taken = _out_bytes(spec, block_m, block_n) * own + BARRIER_BYTES
    taken += end_scale_bytes(scale_at, block_m, block_n)
    return (device.shared_memory_bytes - taken) // stage_bytes(spec, scale_at, block_m, block_n)


def end_scale_bytes(scale_at: ScaleAt, block_m: int, block_n: int) -> int:
    """Shared memory for scales of rows and columns that come at the end of a block."""
    return (block_m + block_n) * SCALE_BYTES if scale_at is ScaleAt.EPILOGUE else 0


def out_box(block_m: int, block_n: int) -> tuple[int, int]:
    """Rows and columns of D that a warpgroup stores at once."""
    if (block_m, block_n) == CHAINED:
        return SLAB, block_n // PARTS
    return SLAB, block_n // 2 if block_m == SLAB else block_n


def _out_bytes(spec: MatmulSpec, block_m: int, block_n: int) -> int:
    rows, columns = out_box(block_m, block_n)
    parts = CONSUMERS * (PARTS_UNDER_WAY if (block_m, block_n) == CHAINED else 1)
    return parts * rows * columns * spec.out.bytes
