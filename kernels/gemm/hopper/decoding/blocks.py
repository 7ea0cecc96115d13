"""Blocks of the kernel that decodes an operand in registers. Pure; no torch."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from fp8core.formats import FORMATS
from fp8core.linear import Side
from fp8core.recipes import MatmulSpec, OperandSpec
from fp8core.tiles import WHOLE, TileShape
from kernels.device import Device
from kernels.gemm.blocks import LEAST_STAGES, Blocks, Body
from kernels.gemm.hopper import blocks as hopper
from kernels.gemm.hopper import refusals
from kernels.gemm.hopper.sizes import (
    CODES,
    CONSUMERS,
    DECODED_K,
    HALF_AN_SM,
    MOST_ROWS_SPLIT,
)
from kernels.gemm.hopper.storage import Storage, decoding, filled, takes_two
from kernels.gemm.meaning import Arithmetic, Meaning, ScaleAt
from kernels.operand_passes.decode_ptx import decode_ptx, read_as

BLOCK_K = DECODED_K

_LEAST_ROWS, _MOST_ROWS = 16, 256
_LEAST_TILE = 16
_LOADED_BITS = 1024
"""Of a row, in one load by TMA: 128 bytes."""
_STEPS = (BLOCK_K, 2 * BLOCK_K, 4 * BLOCK_K)
_SCALES = ("e8m0", "e4m3")
_TENSOR = TileShape(WHOLE, WHOLE)
_STAGES_BESIDE, _MOST_STAGES = 4, 12
_GROUPS = (8, 16, 32)
_SEVERAL = 4
"""Blocks that few rows may have: so many rows of them share a D of few blocks, too."""


def refusal(meaning: Meaning) -> str:
    """Reason why no operand can be decoded in registers, in a sentence; empty where one can."""
    if meaning.arithmetic is not Arithmetic.DEQUANTIZED:
        return "decoding in registers is for values that are multiplied as bf16"
    if meaning.scale_at is ScaleAt.K_LOOP:
        return "decoding in registers has no scales for the sums of a step along K"
    if any(meaning.applied(side) not in (None, _TENSOR) for side in Side):
        return "decoding in registers multiplies finished sums by one scale of each operand"
    reasons = [_undecoded(meaning, side) for side in Side]
    return reasons[-1] if all(reasons) else ""


def _undecoded(meaning: Meaning, side: Side) -> str:
    """Reason why an operand is not decoded in registers, in a sentence; empty where it may be."""
    operand = meaning.spec.operand(side)
    if operand is None or not meaning.on_codes(side):
        return f"decoding in registers takes codes with their scales, and {side.value} comes without scales"
    if not decode_ptx(read_as(operand)):
        return f"no few instructions decode {operand.format.name}, in which {side.value} comes"
    if operand.scale_rule.format.name not in _SCALES:
        return f"decoding in registers takes scales of one byte, and those of {side.value} are fp32"
    tile = operand.tile
    if tile.mn is WHOLE or tile.k is WHOLE or tile.k < _LEAST_TILE or BLOCK_K % tile.k:
        sizes = f"{tile.mn or 'all rows'} × {tile.k or 'all of K'}"
        return (
            f"decoding in registers takes scales of 16, 32 or 64 along K, and those of {side.value} are of "
            f"{sizes}"
        )
    return ""


def lacking(meaning: Meaning, mnk: tuple[int, int, int], device: Device) -> str:
    """Reason why this GEMM is not decoded here, in a sentence; empty where it is.

    Where the larger operand cannot be decoded, the other one is, unless it has few rows: blocks are tuned for
    many codes.
    """
    m, n, _ = mnk
    side = decoded_side(meaning, m, n)
    rows = m if side == "a" else n
    reason = refusals.lacking(meaning, mnk, device)
    if reason or (reason := _undecoded(meaning, Side.A if side == "a" else Side.B)):
        return reason
    if side != larger(m, n) and rows <= _MOST_ROWS:
        return f"decoding in registers is for many codes, and {side.upper()} has {rows} rows"
    return ""


def candidates(meaning: Meaning, mnk: tuple[int, int, int], device: Device) -> Iterator[Blocks]:
    """Blocks to choose from, with the most stages that fit.

    One operand is decoded; the other one goes through a pass. A block has all rows of that other operand
    where they are few. K then comes in one run, or in two where four warpgroups can hold the sums.
    Where the rows are many, a block has 256 of them, in several orders. Where they are a few hundred, it may
    have 128: then D has more blocks, and fewer rows that are not there.

    Where the rows are few, more codes also come at a time: the loop takes fewer instructions for each, and
    one load more bytes of a row.

    Programs also share a block where D is bf16 and has fewer blocks than the device has SMs. Their number
    gives every SM a program, or is half of that.

    Where the rows are few, an SM may also hold two programs: the second works while the first waits, and no
    wave of programs ends with idle SMs.

    Or a warpgroup more decodes the rows of A in the kernel, without a pass.

    A ring has two stages or more: the next codes are decoded before a stage is free again.
    """
    return (blocks for blocks in _all(meaning, mnk, device) if blocks.stages >= LEAST_STAGES)


def _all(meaning: Meaning, mnk: tuple[int, int, int], device: Device) -> Iterator[Blocks]:
    """The blocks that `candidates` tells of, those of one stage with them."""
    m, n, _ = mnk
    least = n if decoded_side(meaning, m, n) == "a" else m
    rows = min(_MOST_ROWS, max(_LEAST_ROWS, 1 << (least - 1).bit_length()))
    yield from _of_rows(rows, meaning, mnk, device)
    if rows == _MOST_ROWS and least <= _SEVERAL * rows:
        yield from _of_rows(rows // 2, meaning, mnk, device)
    if rows == _MOST_ROWS:
        yield from _of_more_codes(meaning, mnk, device)
    if _alike(meaning):
        for rows, codes in _without_pass_sides(m):
            yield from _without_pass((rows, codes), meaning, mnk, device)


def _of_more_codes(meaning: Meaning, mnk: tuple[int, int, int], device: Device) -> Iterator[Blocks]:
    """Blocks of two slabs of codes a warpgroup, and of half as many rows of values as the largest."""
    m, n, _ = mnk
    decoded = decoded_side(meaning, m, n)
    sides = (2 * CODES, _MOST_ROWS // 2) if decoded == "a" else (_MOST_ROWS // 2, 2 * CODES)
    for group in hopper.orders(sides, mnk, _GROUPS):
        blocks = _blocks(sides, BLOCK_K, group, decoded, meaning, device)
        yield blocks
        yield from hopper.sharing_last(blocks, mnk, device)


def _without_pass_sides(m: int) -> Iterator[tuple[int, int]]:
    """Rows of A that a block without a pass may have, and codes: all rows where they are few, else some."""
    if m <= MOST_ROWS_SPLIT:
        yield max(_LEAST_ROWS, 1 << (m - 1).bit_length()), CODES
        return
    if m <= _SEVERAL * MOST_ROWS_SPLIT * 2:
        yield from ((MOST_ROWS_SPLIT // 2, CODES), (MOST_ROWS_SPLIT, CODES))
    yield from ((_MOST_ROWS // 2, CODES), (_MOST_ROWS // 2, 2 * CODES))


def _blocks(
    sides: tuple[int, int],
    block_k: int,
    group: int,
    decoded: str,
    meaning: Meaning,
    device: Device,
    runs: int = 1,
) -> Blocks:
    """Blocks with the most stages that fit, persistent where K is one run."""
    blocks = Blocks(
        body=Body.DECODING,
        block_m=sides[0],
        block_n=sides[1],
        block_k=block_k,
        group=group,
        warps=4 * CONSUMERS,
        stages=1,
        persistent=runs == 1,
        split_k=runs,
        decoded=decoded,
    )
    blocks = filled(blocks, decoding(meaning, blocks), device.shared_memory_bytes)
    return replace(blocks, stages=min(_MOST_STAGES, blocks.stages))


def _without_pass(
    sides: tuple[int, int], meaning: Meaning, mnk: tuple[int, int, int], device: Device
) -> Iterator[Blocks]:
    """Blocks that decode both operands: so many rows of A as values, and codes of B."""
    (m, n, k), rows = mnk, sides[0]
    groups = hopper.orders(sides, mnk, _GROUPS if m > rows else _GROUPS[:1])
    steps = _STEPS[:2] if rows <= MOST_ROWS_SPLIT else _STEPS[:1]
    for block_k, group in product(steps, groups):
        blocks = _blocks(sides, block_k, group, "ab", meaning, device)
        yield blocks
        yield from hopper.sharing_last(blocks, mnk, device)
        programs = hopper.shared_by(blocks.count(m, n), k // block_k, device)
        if meaning.spec.out == FORMATS["bf16"] and group == groups[0]:
            yield from (
                replace(blocks, split_k=sharing, persistent=False)
                for sharing in (programs // 2, programs)
                if sharing > 1
            )


def _of_rows(rows: int, meaning: Meaning, mnk: tuple[int, int, int], device: Device) -> Iterator[Blocks]:
    """Blocks with so many rows of the operand that goes through a pass."""
    m, n, k = mnk
    decoded = decoded_side(meaning, m, n)
    least = n if decoded == "a" else m
    block_m, block_n = (CODES, rows) if decoded == "a" else (rows, CODES)
    groups = hopper.orders((block_m, block_n), mnk, _GROUPS if least > rows else _GROUPS[:1])
    bits = read_as(decoded_operand(meaning.spec, decoded)).format.packed_bits
    steps = [
        step for step in _STEPS if step == BLOCK_K or (rows < _MOST_ROWS and step * bits <= _LOADED_BITS)
    ]
    for block_k, runs, group in product(steps, (1, 2), groups):
        two = takes_two(rows, block_k)
        if runs > 1 + two:
            continue
        blocks = _blocks((block_m, block_n), block_k, group, decoded, meaning, device, runs)
        yield blocks
        if runs == 1:
            yield from hopper.sharing_last(blocks, mnk, device)
        programs = hopper.shared_by(blocks.count(m, n), k // block_k // runs, device)
        if meaning.spec.out == FORMATS["bf16"] and runs == 1 + two and least <= _SEVERAL * rows:
            yield from (
                replace(blocks, split_k=sharing * runs, persistent=False)
                for sharing in (programs // 2, programs)
                if sharing > 1
            )
        if runs == 1 and two:
            yield from _two_an_sm(blocks, meaning, mnk, device)


def _two_an_sm(
    blocks: Blocks, meaning: Meaning, mnk: tuple[int, int, int], device: Device
) -> Iterator[Blocks]:
    """Blocks of which an SM holds two, with half of its memory each; none where few stages fit.

    Where there are fewer than SMs, programs share them. Their number is odd: of an even number of runs a
    program takes two, by four warpgroups.
    """
    m, n, k = mnk
    blocks = replace(blocks, persistent=False)
    blocks = filled(blocks, decoding(meaning, blocks), HALF_AN_SM)
    blocks = replace(blocks, stages=min(_MOST_STAGES, blocks.stages))
    count = blocks.count(m, n)
    if blocks.stages < _STAGES_BESIDE:
        return
    if count > device.sms:
        yield blocks
    elif meaning.spec.out == FORMATS["bf16"]:
        programs = hopper.shared_by(-(-count // 2), k // blocks.block_k, device)
        programs -= programs % 2 == 0
        if count * programs > device.sms:
            yield replace(blocks, split_k=programs)


def _alike(meaning: Meaning) -> bool:
    """True where the kernel can decode A beside B: both are bytes with scales of one kind, A's one a row."""
    a, b = meaning.spec.a, meaning.spec.b
    if any(_undecoded(meaning, side) for side in Side) or a.tile.mn != 1:
        return False
    bytes_ = all(each.format.packed_bits == FORMATS["e4m3"].bits for each in (a, b))
    return bytes_ and (a.scale_rule, a.tile.k) == (b.scale_rule, b.tile.k)


def larger(m: int, n: int) -> str:
    """Name of the operand with more rows."""
    return "a" if m > n else "b"


def decoded_side(meaning: Meaning, m: int, n: int) -> str:
    """Name of the operand that is decoded, "a" or "b": the larger one, if it can be; else the other one."""
    first = larger(m, n)
    able = not _undecoded(meaning, Side.A if first == "a" else Side.B)
    return first if able else {"a": "b", "b": "a"}[first]


def runs_each(blocks: Blocks, k: int) -> int:
    """Number of runs of K that one program takes, one or two.

    It takes two where four warpgroups can hold their sums. Both runs must also be equally long, but for a
    step, because their steps come one after the other.
    """
    runs, length = blocks.runs(k)
    last = -(-k // blocks.block_k) - (runs - 1) * length
    two = takes_two(value_rows(blocks), blocks.block_k) and blocks.decoded != "ab" and not blocks.persistent
    return 2 if runs % 2 == 0 and two and last >= length - 1 else 1


def beside(blocks: Blocks, storage: Storage, k: int) -> bool:
    """True where an SM holds two programs: with small sums of two warpgroups, and half of its memory each."""
    small = value_rows(blocks) <= MOST_ROWS_SPLIT and runs_each(blocks, k) == 1 and blocks.decoded != "ab"
    return small and not blocks.persistent and storage.bytes <= HALF_AN_SM


def values_order(meaning: Meaning, blocks: Blocks) -> int:
    """The order along K in which the values lie beside codes decoded in registers: see in_order. It names
    the bits of a code as the kernel reads it.
    """
    return read_as(decoded_operand(meaning.spec, blocks.decoded)).format.packed_bits


def decoded_operand(spec: MatmulSpec, decoded: str) -> OperandSpec:
    """The operand that a plan's `decoded` names, "a" or "b"."""
    return spec.a if decoded == "a" else spec.b


def code_rows(blocks: Blocks) -> int:
    """Rows that a block has of the operand that is decoded in registers."""
    return blocks.block_m if blocks.decoded == "a" else blocks.block_n


def value_rows(blocks: Blocks) -> int:
    """Rows that a block has of the operand that a pass dequantizes."""
    return blocks.block_n if blocks.decoded == "a" else blocks.block_m
