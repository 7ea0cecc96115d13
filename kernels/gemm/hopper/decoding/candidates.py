"""Blocks of the decoding body to choose from. Pure; no torch."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from fp8core.formats import FORMATS
from fp8core.linear import Side
from kernels.device import Device
from kernels.gemm.blocks import LEAST_STAGES, Blocks, Body
from kernels.gemm.hopper import blocks as hopper
from kernels.gemm.hopper.decoding.blocks import (
    BLOCK_K,
    MOST_ROWS,
    decoded_operand,
    decoded_side,
    runs_each,
    undecoded,
)
from kernels.gemm.hopper.sizes import (
    CODES,
    CONSUMERS,
    HALF_AN_SM,
    LEAST_PART,
    MOST_ROWS_SPLIT,
    ROWS_OF_TWO,
)
from kernels.gemm.hopper.storage import decoding, filled, takes_pairs, takes_two, takes_two_widened
from kernels.gemm.meaning import Meaning
from kernels.operand_passes.decode_ptx import read_as

_LEAST_ROWS = 16
_LOADED_BITS = 1024
"""Of a row, in one load by TMA: 128 bytes."""
_STEPS = (BLOCK_K, 2 * BLOCK_K, 4 * BLOCK_K)
_STAGES_BESIDE, _MOST_STAGES = 4, 12
_GROUPS = (8, 16, 32)
_UNEVEN_WAVES = 16
"""Waves of blocks from which on a last one that is not full hardly matters."""
_SEVERAL = 4
"""Blocks that few rows may have: so many rows of them share a D of few blocks, too."""


def candidates(meaning: Meaning, mnk: tuple[int, int, int], device: Device) -> Iterator[Blocks]:
    """Blocks to choose from, with the most stages that fit.

    One operand is decoded; the other one goes through a pass. A block has all rows of that other operand
    where they are few. K then comes in one run, or in two where four warpgroups can hold the sums.
    Where the rows are many, a block has 256 of them, in several orders. Where they are a few hundred, it may
    have 128: then D has more blocks, and fewer rows that are not there. Or it has 96, 160 or 192, where that
    leaves no more of them.

    Where the rows are few, more codes also come at a time: the loop takes fewer instructions for each, and
    one load more bytes of a row.

    Programs also share a block where D has fewer blocks than the device has SMs. Their number gives every SM
    a program, or is a half or a quarter of that. Where D has more blocks, and the last wave of them is not
    full, all programs also take equally many steps.

    Where the rows are few, an SM may also hold two programs: the second works while the first waits, and no
    wave of programs ends with idle SMs.

    Or a warpgroup more decodes the rows of A in the kernel, without a pass. Where they are few, such programs
    also take two runs of K, or share an SM.

    A ring has two stages or more: the next codes are decoded before a stage is free again.
    """
    return (blocks for blocks in _all(meaning, mnk, device) if blocks.stages >= LEAST_STAGES)


def _all(meaning: Meaning, mnk: tuple[int, int, int], device: Device) -> Iterator[Blocks]:
    """The blocks that `candidates` tells of, those of one stage with them."""
    m, n, _ = mnk
    least = n if decoded_side(meaning, m, n) == "a" else m
    rows = min(MOST_ROWS, max(_LEAST_ROWS, 1 << (least - 1).bit_length()))
    yield from _of_rows(rows, meaning, mnk, device)
    if rows == MOST_ROWS and least <= _SEVERAL * rows:
        yield from _of_rows(rows // 2, meaning, mnk, device)
    for between in _rows_between(least):
        yield from _of_rows(between, meaning, mnk, device)
    if rows == MOST_ROWS:
        yield from _of_more_codes(meaning, mnk, device)
    if _alike(meaning):
        for rows, codes in _without_pass_sides(m):
            yield from _without_pass((rows, codes), meaning, mnk, device)


def _rows_between(least: int) -> Iterator[int]:
    """Rows of two powers of two, where they leave no more rows of blocks empty than one power of two."""
    if MOST_ROWS_SPLIT < least <= _SEVERAL * MOST_ROWS:
        lowest, most = MOST_ROWS // 2, min(MOST_ROWS, 1 << (least - 1).bit_length())
        rounded = min(-(-least // rows) * rows for rows in (lowest, most))
        yield from (rows for rows in ROWS_OF_TWO if rows < most and -(-least // rows) * rows <= rounded)


def _of_rows(rows: int, meaning: Meaning, mnk: tuple[int, int, int], device: Device) -> Iterator[Blocks]:
    """Blocks with so many rows of the operand that goes through a pass."""
    m, n, _ = mnk
    decoded = decoded_side(meaning, m, n)
    least = n if decoded == "a" else m
    block_m, block_n = (CODES, rows) if decoded == "a" else (rows, CODES)
    groups = hopper.orders((block_m, block_n), mnk, _GROUPS if least > rows else _GROUPS[:1])
    bits = read_as(decoded_operand(meaning.spec, decoded)).format.packed_bits
    steps = [step for step in _STEPS if step == BLOCK_K or (rows < MOST_ROWS and step * bits <= _LOADED_BITS)]
    for block_k, group in product(steps, groups):
        blocks = _blocks((block_m, block_n), block_k, group, decoded, meaning, device)
        yield blocks
        yield from _uneven(blocks, mnk, device)
        if rows <= MOST_ROWS_SPLIT:  # a small sum is soon added up
            yield from hopper.sharing_last(blocks, mnk, device)
        two = takes_two(rows, block_k)
        if two:
            yield from _two_an_sm(blocks, meaning, mnk, device)
            blocks = _of_two_runs(blocks, meaning, device)
            yield blocks
        if least <= _SEVERAL * rows:
            yield from _shared(blocks, 1 + two, meaning, mnk, device)


def _of_more_codes(meaning: Meaning, mnk: tuple[int, int, int], device: Device) -> Iterator[Blocks]:
    """Blocks of two slabs of codes a warpgroup, and of half as many rows of values as the largest."""
    m, n, _ = mnk
    decoded = decoded_side(meaning, m, n)
    sides = (2 * CODES, MOST_ROWS // 2) if decoded == "a" else (MOST_ROWS // 2, 2 * CODES)
    for group in hopper.orders(sides, mnk, _GROUPS):
        blocks = _blocks(sides, BLOCK_K, group, decoded, meaning, device)
        yield blocks
        yield from _uneven(blocks, mnk, device)


def _without_pass_sides(m: int) -> Iterator[tuple[int, int]]:
    """Rows of A that a block without a pass may have, and codes: all rows where they are few, else some."""
    if m <= MOST_ROWS_SPLIT:
        yield max(_LEAST_ROWS, 1 << (m - 1).bit_length()), CODES
        return
    if m <= _SEVERAL * MOST_ROWS_SPLIT * 2:
        yield from ((MOST_ROWS_SPLIT // 2, CODES), (MOST_ROWS_SPLIT, CODES))
    yield from ((MOST_ROWS // 2, CODES), (MOST_ROWS // 2, 2 * CODES))


def _without_pass(
    sides: tuple[int, int], meaning: Meaning, mnk: tuple[int, int, int], device: Device
) -> Iterator[Blocks]:
    """Blocks that decode both operands: so many rows of A as values, and codes of B."""
    m, rows = mnk[0], sides[0]
    groups = hopper.orders(sides, mnk, _GROUPS if m > rows else _GROUPS[:1])
    steps = _STEPS[:2] if rows <= MOST_ROWS_SPLIT else _STEPS[:1]
    for block_k, group in product(steps, groups):
        blocks = _blocks(sides, block_k, group, "ab", meaning, device)
        yield blocks
        yield from hopper.sharing_last(blocks, mnk, device)
        if group != groups[0]:
            continue
        yield from _shared(blocks, 1, meaning, mnk, device)
        if takes_two_widened(rows, block_k):
            two = _of_two_runs(blocks, meaning, device)
            yield from (each for each in (two, *_shared(two, 2, meaning, mnk, device)) if _pairs(each, mnk))
        if rows < MOST_ROWS_SPLIT:  # registers hold no more beside another program
            yield from _two_an_sm(blocks, meaning, mnk, device)


def _pairs(blocks: Blocks, mnk: tuple[int, int, int]) -> bool:
    """True where K has two runs for every program of these blocks."""
    return runs_each(blocks, mnk[2]) > 1


def _shared(
    blocks: Blocks, runs: int, meaning: Meaning, mnk: tuple[int, int, int], device: Device
) -> Iterator[Blocks]:
    """Blocks that programs share, each of which takes so many runs of K: a program for every SM, or fewer."""
    m, n, k = mnk
    for programs in hopper.sharing(blocks.count(m, n), k // blocks.block_k // runs, device):
        shared = replace(blocks, split_k=programs * runs, persistent=False)
        yield _filled(shared, meaning, device.shared_memory_bytes)


def _uneven(blocks: Blocks, mnk: tuple[int, int, int], device: Device) -> Iterator[Blocks]:
    """Blocks like these, of whose last waves every program has equally many steps. There is more than one
    wave: no two programs work on the two parts of a block at once.
    """
    m, n, k = mnk
    count, steps = blocks.count(m, n), -(-k // blocks.block_k)
    if count % device.sms and steps >= 2 * LEAST_PART and 1 < count / device.sms < _UNEVEN_WAVES:
        yield replace(blocks, uneven=True)


def _of_two_runs(blocks: Blocks, meaning: Meaning, device: Device) -> Blocks:
    """Blocks like these, with two runs of K in a program."""
    warps = 2 * blocks.warps if blocks.decoded == "ab" else blocks.warps
    blocks = replace(blocks, warps=warps, persistent=False, split_k=2)
    return _filled(blocks, meaning, device.shared_memory_bytes)


def _two_an_sm(
    blocks: Blocks, meaning: Meaning, mnk: tuple[int, int, int], device: Device
) -> Iterator[Blocks]:
    """Blocks of which an SM holds two, with half of its memory each; none where few stages fit.

    Where there are fewer than SMs, programs share them. Their number is odd where one operand is decoded: of
    an even number of runs a program takes two, by four warpgroups.
    """
    m, n, k = mnk
    blocks = _filled(replace(blocks, persistent=False), meaning, HALF_AN_SM)
    count = blocks.count(m, n)
    if blocks.stages < _STAGES_BESIDE:
        return
    if count > device.sms:
        yield blocks
    else:
        programs = hopper.shared_by(-(-count // 2), k // blocks.block_k, device)
        programs -= programs % 2 == 0 and blocks.decoded != "ab"
        if count * programs > device.sms:
            yield replace(blocks, split_k=programs)


def _blocks(
    sides: tuple[int, int], block_k: int, group: int, decoded: str, meaning: Meaning, device: Device
) -> Blocks:
    """Blocks with the most stages that fit, persistent."""
    blocks = Blocks(
        body=Body.DECODING,
        block_m=sides[0],
        block_n=sides[1],
        block_k=block_k,
        group=group,
        warps=4 * CONSUMERS,
        stages=LEAST_STAGES,
        persistent=True,
        decoded=decoded,
    )
    return _filled(blocks, meaning, device.shared_memory_bytes)


def _filled(blocks: Blocks, meaning: Meaning, shared_memory_bytes: int) -> Blocks:
    """Blocks with the most stages that fit; of two runs of K in a program, with an even number of them."""
    storage = decoding(meaning, replace(blocks, stages=LEAST_STAGES))
    stages = min(_MOST_STAGES, filled(blocks, storage, shared_memory_bytes).stages)
    return replace(blocks, stages=stages - stages % 2 if takes_pairs(blocks) else stages)


def _alike(meaning: Meaning) -> bool:
    """True where the kernel can decode A beside B: both are bytes with scales of one kind, A's one a row."""
    a, b = meaning.spec.a, meaning.spec.b
    if any(undecoded(meaning, side) for side in Side) or a.tile.mn != 1:
        return False
    bytes_ = all(each.format.packed_bits == FORMATS["e4m3"].bits for each in (a, b))
    return bytes_ and (a.scale_rule, a.tile.k) == (b.scale_rule, b.tile.k)
