"""Blocks of the kernel that decodes an operand in registers. Pure; no torch."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from fp8core.formats import FORMATS
from fp8core.recipes import MatmulSpec, OperandSpec
from fp8core.tiles import WHOLE
from kernels.device import Device
from kernels.gemm.blocks import Blocks, Schedule
from kernels.gemm.hopper.blocks import shared_by
from kernels.gemm.hopper.sizes import CONSUMERS, SCALE_BYTES, SLAB

CODES = CONSUMERS * SLAB
"""Rows of the operand that is decoded in a block: a warpgroup multiplies a slab of them."""
BLOCK_K = 64
PART_BYTES = 128
"""What a warpgroup stores at once of each of its 64 rows or columns of D, at most: 64 numbers of bf16, 32 of
fp32.
"""
PARTS_UNDER_WAY = 3
"""The most; more would cost a stage."""

_LEAST_ROWS, _MOST_ROWS_SPLIT, _MOST_ROWS = 16, 64, 256
_BF16_BYTES, _SUM_BYTES = 2, 4
_LEAST_TILE = 32
_BARRIER_BYTES = 1024
_MOST_STAGES = 12
_GROUPS = (8, 16, 32)


def lacking(spec: MatmulSpec) -> str:
    """Why no operand can be decoded in registers; empty where both can."""
    for name, operand in (("A", spec.a), ("B", spec.b)):
        tile = operand.tile
        if tile.mn != 1 or tile.k is WHOLE or tile.k < _LEAST_TILE or BLOCK_K % tile.k:
            sizes = f"{tile.mn or 'all rows'} × {tile.k or 'all of K'}"
            return (
                f"decoding in registers takes scales of 1 × 32 or 64 along K, and those of {name} are of "
                f"{sizes}"
            )
    return ""


def candidates(spec: MatmulSpec, mnk: tuple[int, int, int], device: Device) -> Iterator[Blocks]:
    """The blocks to choose from, with the most stages that fit. The larger operand is decoded, the other one
    goes through a pass: of that, a block has all rows where they are few, with K in one run, or in two where
    four warpgroups can hold the sums; else 256, in several orders. Where D is bf16 and has fewer blocks than
    the device has SMs, programs also share a block: half as many as give every SM one, and as many.
    """
    m, n, k = mnk
    decoded, least = larger(m, n), min(m, n)
    rows = min(_MOST_ROWS, max(_LEAST_ROWS, 1 << (least - 1).bit_length()))
    block_m, block_n = (CODES, rows) if decoded == "a" else (rows, CODES)
    groups = _GROUPS if least > rows else _GROUPS[:1]
    two = rows <= _MOST_ROWS_SPLIT
    for runs, group in product((1, 2) if two else (1,), groups):
        blocks = Blocks(
            schedule=Schedule.SPECIALIZED,
            block_m=block_m,
            block_n=block_n,
            block_k=BLOCK_K,
            group=group,
            warps=4 * CONSUMERS,
            stages=_stages(spec, decoded, rows, runs, device),
            persistent=runs == 1,
            split_k=runs,
            decoded=decoded,
        )
        yield blocks
        programs = shared_by(blocks.count(m, n), k // BLOCK_K // runs, device)
        if spec.out == FORMATS["bf16"] and runs == 1 + two and least <= rows:
            yield from (
                replace(blocks, split_k=sharing * runs, persistent=False)
                for sharing in (programs // 2, programs)
                if sharing > 1
            )


def larger(m: int, n: int) -> str:
    """The operand that is decoded: "a" or "b"."""
    return "a" if m > n else "b"


def turned(blocks: Blocks, m: int, n: int) -> Blocks:
    """The same with M and N exchanged where they decode the smaller operand: a shape class has both."""
    if blocks.schedule is Schedule.SIMPLE or blocks.decoded in ("", larger(m, n)):
        return blocks
    sides = {"block_m": blocks.block_n, "block_n": blocks.block_m, "decoded": larger(m, n)}
    return replace(blocks, **sides)


def runs_each(blocks: Blocks, k: int) -> int:
    """Runs of K that one program takes: two where four warpgroups can hold their sums and both are as long,
    but for a step, as their steps come one after the other.
    """
    runs, length = blocks.runs(k)
    last = -(-k // blocks.block_k) - (runs - 1) * length
    return 2 if runs % 2 == 0 and value_rows(blocks) <= _MOST_ROWS_SPLIT and last >= length - 1 else 1


def decoded_operand(spec: MatmulSpec, decoded: str) -> OperandSpec:
    """The operand that a plan's `decoded` names, "a" or "b"."""
    return spec.a if decoded == "a" else spec.b


def value_rows(blocks: Blocks) -> int:
    """Rows of the operand that a pass dequantizes in a block."""
    return blocks.block_n if blocks.decoded == "a" else blocks.block_m


def out_box(spec: MatmulSpec, blocks: Blocks) -> tuple[int, int]:
    """Rows and columns of D that a warpgroup stores at once."""
    part = _part(spec, value_rows(blocks))
    return (SLAB, part) if blocks.decoded == "a" else (part, SLAB)


def buffers(spec: MatmulSpec, rows: int) -> int:
    """Parts of D that a warpgroup may have under way, with so many rows of values in a block."""
    return min(PARTS_UNDER_WAY, rows // _part(spec, rows))


def _part(spec: MatmulSpec, rows: int) -> int:
    """Numbers of a row or column that a warpgroup stores at once, with so many rows of values in a block."""
    return min(rows, PART_BYTES // spec.out.bytes)


def stage_bytes(spec: MatmulSpec, decoded: str, rows: int) -> int:
    """Shared memory of one stage: so many rows of values in bf16, a block of codes, and their scales."""
    tiles = BLOCK_K // (decoded_operand(spec, decoded).tile.k or BLOCK_K)
    return rows * BLOCK_K * _BF16_BYTES + CODES * (BLOCK_K + tiles * SCALE_BYTES)


def _stages(spec: MatmulSpec, decoded: str, rows: int, runs: int, device: Device) -> int:
    part = _part(spec, rows) * SLAB * spec.out.bytes
    taken = CONSUMERS * buffers(spec, rows) * part + _BARRIER_BYTES
    taken += CODES * rows * _SUM_BYTES if runs > 1 else 0
    return min(_MOST_STAGES, (device.shared_memory_bytes - taken) // stage_bytes(spec, decoded, rows))
