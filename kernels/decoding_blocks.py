"""The blocks of the kernel that decodes B in registers (kernels.decoding_kernel). Pure; no torch."""

from collections.abc import Iterator
from itertools import product

from fp8core.recipes import MatmulSpec
from fp8core.tiles import WHOLE
from kernels.blocks import Blocks, Schedule
from kernels.device import Device
from kernels.specialized_blocks import CONSUMERS, SCALE_BYTES, SLAB

BLOCK_N = CONSUMERS * SLAB
"""A warpgroup multiplies a slab of B's rows, which are columns of D."""
BLOCK_K = 64
DECODED = "b"
PART = 128
"""Rows of D that a warpgroup stores at once, or fewer."""

_LEAST_ROWS, _MOST_ROWS_SPLIT, _MOST_ROWS = 16, 64, 256
_BF16_BYTES, _SUM_BYTES = 2, 4
_LEAST_TILE = 32
_BARRIER_BYTES = 1024
_MOST_STAGES = 12
_GROUPS = (8, 4, 16)


def lacking(spec: MatmulSpec) -> str:
    """Why B cannot be decoded in registers; empty where it can."""
    tile = spec.b.tile
    if tile.mn != 1 or tile.k is WHOLE or tile.k < _LEAST_TILE or BLOCK_K % tile.k:
        sizes = f"{tile.mn or 'all rows'} × {tile.k or 'all of K'}"
        return f"decoding in registers takes scales of 1 × 32 or 64 along K, and those of B are of {sizes}"
    return ""


def candidates(spec: MatmulSpec, m: int, device: Device) -> Iterator[Blocks]:
    """The blocks to choose from for M rows, with the most stages that fit: of all rows where they are few,
    with K in one run, or in two where four warpgroups can hold the sums; else of 256, in several orders.
    """
    block_m = min(_MOST_ROWS, max(_LEAST_ROWS, 1 << (m - 1).bit_length()))
    groups = _GROUPS if m > block_m else _GROUPS[:1]
    for runs, group_m in product((1, 2) if block_m <= _MOST_ROWS_SPLIT else (1,), groups):
        yield Blocks(
            schedule=Schedule.SPECIALIZED,
            block_m=block_m,
            block_n=BLOCK_N,
            block_k=BLOCK_K,
            group_m=group_m,
            warps=4 * CONSUMERS,
            stages=_stages(spec, block_m, runs, device),
            persistent=runs == 1,
            split_k=runs,
            decoded=DECODED,
        )


def out_box(block_m: int) -> tuple[int, int]:
    """Rows and columns of D that a warpgroup stores at once."""
    return min(block_m, PART), SLAB


def stage_bytes(spec: MatmulSpec, block_m: int) -> int:
    """Shared memory of one stage: a block of A in bf16, one of B's codes, and their scales."""
    codes = BLOCK_N * (BLOCK_K + BLOCK_K // (spec.b.tile.k or BLOCK_K) * SCALE_BYTES)
    return block_m * BLOCK_K * _BF16_BYTES + codes


def _stages(spec: MatmulSpec, block_m: int, runs: int, device: Device) -> int:
    rows, columns = out_box(block_m)
    taken = CONSUMERS * rows * columns * spec.out.bytes + _BARRIER_BYTES
    taken += BLOCK_N * block_m * _SUM_BYTES if runs > 1 else 0
    return min(_MOST_STAGES, (device.shared_memory_bytes - taken) // stage_bytes(spec, block_m))
