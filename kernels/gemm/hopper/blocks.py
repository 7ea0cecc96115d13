"""The blocks that each body of the warp-specialized kernel can have.

Pure; no torch.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from kernels.device import Device
from kernels.gemm.blocks import Blocks, Body
from kernels.gemm.hopper.refusals import lends
from kernels.gemm.hopper.sizes import (
    BLOCK_K_BYTES,
    CHAINED,
    CHAINED_SHARED,
    CONSUMERS,
    LENT_STAGES,
    LOW,
    PROMOTED,
    SLAB,
    THREE,
    THREE_SLABS,
    WARPGROUP_WARPS,
)
from kernels.gemm.hopper.storage import filled, ring
from kernels.gemm.meaning import Meaning

Mnk = tuple[int, int, int]

_MOST_SHARING, _MOST_RUNS, _LEAST_STEPS = 16, 16, 4
"""The most programs that share a block, and the fewest steps along K of each."""
_LEAST_SHARING = 4
"""A quarter of the programs that may share a block, at least, so that it is offered, too."""
_GROUPS = (8, 16, 32, 64)
_FEW_HIGH = 2
"""High blocks that M may have, at most, so that low ones are offered however many they are: they leave fewer
of their rows empty.
"""
_MOST_WAVES = 4
"""Blocks for each SM, at most, of which low and narrow ones are offered where M has many rows."""
_SHORT_K = 256
"""Products along K up to which an order of blocks that is good to write in is offered, too."""
_SHARED_WAVES = 8
"""Waves from which on the last one is not worth sharing."""
_LAST_RUNS = (2, 3, 4)
"""Programs that share a block of the last wave. With more of them, adding up their sums takes as long."""
RING_BODIES = (
    Body.CHAINED,
    Body.CHAINED_SHARED,
    Body.PROMOTED,
    Body.PROMOTED_LENT,
    Body.PROMOTED_THREE,
    Body.PROMOTED_FEW_ROWS,
)
"""Bodies of kernels.gemm.hopper.kernel. They share a ring and the warp that fills it."""


def chained(meaning: Meaning, mnk: Mnk, device: Device) -> Iterator[Blocks]:
    """Chained blocks to choose from, in several orders, with the most stages that fit."""
    return (_blocks(Body.CHAINED, CHAINED, group, meaning, device) for group in orders(CHAINED, mnk, _GROUPS))


def chained_shared(meaning: Meaning, mnk: Mnk, device: Device) -> Iterator[Blocks]:
    """Chained blocks of several sizes where D has few of them, in one run of K, and in as many as give every
    SM one, two or three programs.
    """
    m, n, k = mnk
    for sides in (sides for sides in CHAINED_SHARED if sides[0] < 2 * max(m, SLAB)):
        blocks = _blocks(Body.CHAINED_SHARED, sides, _group(sides, mnk), meaning, device)
        count = blocks.count(m, n)
        if count > _MOST_WAVES * device.sms:
            continue
        if sides != CHAINED:
            yield blocks
        yield from _shared(blocks, count, k, device)


def promoted(meaning: Meaning, mnk: Mnk, device: Device) -> Iterator[Blocks]:
    """High blocks, where M has more rows than a low one. They have the most stages that fit, or one fewer.

    Blocks of two slabs a warpgroup are persistent only where D does not leave through memory of A: others are
    faster there. Where D has few blocks, programs share them.
    """
    m, n, k = mnk
    if m <= LOW[-1][0]:
        return
    if not lends(meaning):
        yield from _high(Body.PROMOTED, meaning, mnk, device)
    for sides in (THREE_SLABS, PROMOTED):
        blocks = _blocks(Body.PROMOTED, sides, _GROUPS[0], meaning, device)
        if sides == THREE_SLABS:
            yield from (replace(blocks, group=group) for group in orders(sides, mnk, _GROUPS))
        yield from sharing_last(blocks, mnk, device)
        yield from _shared(blocks, blocks.count(m, n), k, device)


def promoted_lent(meaning: Meaning, mnk: Mnk, device: Device) -> Iterator[Blocks]:
    """High blocks that lend D memory of A. They have the most stages that fit, or one fewer."""
    return _high(Body.PROMOTED_LENT, meaning, mnk, device)


def promoted_three(meaning: Meaning, mnk: Mnk, device: Device) -> Iterator[Blocks]:
    """High blocks of three slabs, a warpgroup for each, where M has more rows than a low block.

    Where D has few blocks, programs share them.
    """
    m, n, k = mnk
    if m <= LOW[-1][0]:
        return
    blocks = _blocks(Body.PROMOTED_THREE, THREE_SLABS, _GROUPS[0], meaning, device)
    yield from (replace(blocks, group=group) for group in orders(THREE_SLABS, mnk, _GROUPS))
    yield from sharing_last(blocks, mnk, device)
    yield from _shared(blocks, blocks.count(m, n), k, device)


def few_rows(meaning: Meaning, mnk: Mnk, device: Device) -> Iterator[Blocks]:
    """Low blocks where M has few rows, or D few blocks. K also has several runs."""
    m, n, k = mnk
    for sides in (sides for sides in LOW if sides[0] < 2 * max(m, SLAB)):
        blocks = _blocks(Body.PROMOTED_FEW_ROWS, sides, _group(sides, mnk), meaning, device)
        if m > _FEW_HIGH * PROMOTED[0] and blocks.count(m, n) > _MOST_WAVES * device.sms:
            continue
        yield blocks
        splits = sharing(blocks.count(m, n), k // blocks.block_k, device)
        yield from (replace(blocks, split_k=runs, persistent=False) for runs in splits)


def _shared(blocks: Blocks, count: int, k: int, device: Device) -> Iterator[Blocks]:
    """Blocks whose K has as many runs as give every SM one, two or three programs; count: blocks of D."""
    most = min(k // blocks.block_k // _LEAST_STEPS, _MOST_RUNS)
    splits = {min(most, waves * device.sms // max(count, 1)) for waves in (1, 2, 3)}
    yield from (replace(blocks, split_k=runs, persistent=False) for runs in sorted(splits) if runs > 1)


def _high(body: Body, meaning: Meaning, mnk: Mnk, device: Device) -> Iterator[Blocks]:
    return _two_depths(body, PROMOTED, meaning, mnk, device) if mnk[0] > LOW[-1][0] else iter(())


def _two_depths(
    body: Body, sides: tuple[int, int], meaning: Meaning, mnk: Mnk, device: Device
) -> Iterator[Blocks]:
    for group, fewer in product(orders(sides, mnk, _GROUPS), (0, 1)):
        blocks = _blocks(body, sides, group, meaning, device)
        yield replace(blocks, stages=blocks.stages - fewer)


def _blocks(body: Body, sides: tuple[int, int], group: int, meaning: Meaning, device: Device) -> Blocks:
    blocks = Blocks(
        body=body,
        block_m=sides[0],
        block_n=sides[1],
        block_k=BLOCK_K_BYTES // meaning.multiplied[0].bytes,
        group=group,
        warps=WARPGROUP_WARPS * (THREE if body is Body.PROMOTED_THREE else CONSUMERS),
        stages=LENT_STAGES,
        persistent=True,
    )
    return filled(blocks, ring(meaning, blocks), device.shared_memory_bytes)


def _group(sides: tuple[int, int], mnk: Mnk) -> int:
    """The group with which neighbors go along D's shorter side: one of them reads for all what they share."""
    rows, columns = (-(-size // side) for size, side in zip(mnk[:2], sides, strict=True))
    if sides[0] > sides[1]:  # groups of block columns
        return _GROUPS[1] if _GROUPS[0] < columns <= _GROUPS[1] else _GROUPS[0]
    return 1 if columns < min(rows, _GROUPS[0] + 1) else _GROUPS[0]


def orders(sides: tuple[int, int], mnk: Mnk, groups: tuple[int, ...]) -> tuple[int, ...]:
    """Groups of blocks to choose from. Where K is short, writing D takes most of the time: a group of all
    block columns, or of one block row, goes through D row by row, and memory takes long rows faster.
    """
    _, n, k = mnk
    row = -(-n // sides[1]) if sides[0] > sides[1] else 1
    return (*groups, row) if k <= _SHORT_K and row not in groups else groups


def sharing_last(blocks: Blocks, mnk: Mnk, device: Device) -> Iterator[Blocks]:
    """Persistent blocks whose programs share those of the last wave, in numbers of runs that shorten it."""
    m, n, k = mnk
    count = blocks.count(m, n)
    left = count % device.sms
    if not left or not device.sms < count < _SHARED_WAVES * device.sms:
        return
    for runs in _LAST_RUNS:
        waves = -(-left * runs // device.sms)  # of one run's length each
        if waves < runs <= k // blocks.block_k // _LEAST_STEPS:
            yield replace(blocks, split_k=runs)


def sharing(blocks: int, steps: int, device: Device) -> Iterator[int]:
    """Numbers of programs to choose from for a block of D, two or more.

    As many as give every SM one, or half of them. Or a quarter, where those are several: to add the sums of
    many takes long.
    """
    most = shared_by(blocks, steps, device)
    if most >= _LEAST_SHARING * 4:
        yield most // 4
    yield from (programs for programs in (most // 2, most) if programs > 1)


def shared_by(blocks: int, steps: int, device: Device) -> int:
    """Number of programs that can share a block of D. Every SM gets one, with a few steps along K.

    A D with nothing in it has no block to share.
    """
    return max(1, min(device.sms // max(1, blocks), steps // _LEAST_STEPS, _MOST_SHARING))
