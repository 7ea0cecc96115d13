"""Blocks of the kernel that decodes an operand in registers. Pure; no torch."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from fp8core.formats import FORMATS
from fp8core.recipes import MatmulSpec, OperandSpec
from fp8core.tiles import WHOLE
from kernels.device import Device
from kernels.gemm.blocks import Blocks, Body
from kernels.gemm.hopper.blocks import shared_by
from kernels.gemm.hopper.sizes import CODES, CONSUMERS, MOST_ROWS_SPLIT
from kernels.gemm.hopper.storage import decoding, filled
from kernels.gemm.meaning import Arithmetic, Meaning

BLOCK_K = 64

_LEAST_ROWS, _MOST_ROWS = 16, 256
_LEAST_TILE = 32
_MOST_STAGES = 12
_GROUPS = (8, 16, 32)


def refusal(meaning: Meaning) -> str:
    """Reason why no operand can be decoded in registers, in a sentence; empty where both can."""
    if meaning.arithmetic is not Arithmetic.DEQUANTIZED:
        return "decoding in registers is for values that are multiplied as bf16"
    for name, operand in (("A", meaning.spec.a), ("B", meaning.spec.b)):
        tile = operand.tile
        if tile.mn != 1 or tile.k is WHOLE or tile.k < _LEAST_TILE or BLOCK_K % tile.k:
            sizes = f"{tile.mn or 'all rows'} × {tile.k or 'all of K'}"
            return (
                f"decoding in registers takes scales of 1 × 32 or 64 along K, and those of {name} are of "
                f"{sizes}"
            )
    return ""


def candidates(meaning: Meaning, mnk: tuple[int, int, int], device: Device) -> Iterator[Blocks]:
    """Blocks to choose from, with the most stages that fit.

    The larger operand is decoded; the other one goes through a pass. A block has all rows of that other
    operand where they are few. K then comes in one run, or in two where four warpgroups can hold the sums.
    Where the rows are many, a block has 256 of them, in several orders.

    Programs also share a block where D is bf16 and has fewer blocks than the device has SMs. Their number
    gives every SM a program, or is half of that.
    """
    m, n, k = mnk
    decoded, least = larger(m, n), min(m, n)
    rows = min(_MOST_ROWS, max(_LEAST_ROWS, 1 << (least - 1).bit_length()))
    block_m, block_n = (CODES, rows) if decoded == "a" else (rows, CODES)
    groups = _GROUPS if least > rows else _GROUPS[:1]
    two = rows <= MOST_ROWS_SPLIT
    for runs, group in product((1, 2) if two else (1,), groups):
        blocks = Blocks(
            body=Body.DECODING,
            block_m=block_m,
            block_n=block_n,
            block_k=BLOCK_K,
            group=group,
            warps=4 * CONSUMERS,
            stages=1,
            persistent=runs == 1,
            split_k=runs,
            decoded=decoded,
        )
        blocks = filled(blocks, decoding(meaning, blocks), device.shared_memory_bytes)
        blocks = replace(blocks, stages=min(_MOST_STAGES, blocks.stages))
        yield blocks
        programs = shared_by(blocks.count(m, n), k // BLOCK_K // runs, device)
        if meaning.spec.out == FORMATS["bf16"] and runs == 1 + two and least <= rows:
            yield from (
                replace(blocks, split_k=sharing * runs, persistent=False)
                for sharing in (programs // 2, programs)
                if sharing > 1
            )


def larger(m: int, n: int) -> str:
    """Name of the operand that is decoded, "a" or "b"."""
    return "a" if m > n else "b"


def turned(blocks: Blocks, m: int, n: int) -> Blocks:
    """Exchange M and N of blocks that would decode the smaller operand. A shape class has both cases."""
    if blocks.body is not Body.DECODING or blocks.decoded == larger(m, n):
        return blocks
    sides = {"block_m": blocks.block_n, "block_n": blocks.block_m, "decoded": larger(m, n)}
    return replace(blocks, **sides)


def runs_each(blocks: Blocks, k: int) -> int:
    """Number of runs of K that one program takes, one or two.

    It takes two where four warpgroups can hold their sums. Both runs must also be equally long, but for a
    step, because their steps come one after the other.
    """
    runs, length = blocks.runs(k)
    last = -(-k // blocks.block_k) - (runs - 1) * length
    return 2 if runs % 2 == 0 and value_rows(blocks) <= MOST_ROWS_SPLIT and last >= length - 1 else 1


def decoded_operand(spec: MatmulSpec, decoded: str) -> OperandSpec:
    """The operand that a plan's `decoded` names, "a" or "b"."""
    return spec.a if decoded == "a" else spec.b


def value_rows(blocks: Blocks) -> int:
    """Rows that a block has of the operand that a pass dequantizes."""
    return blocks.block_n if blocks.decoded == "a" else blocks.block_m
