"""Blocks of the kernel that decodes an operand in registers. Pure; no torch."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import inf

from fp8core.formats import FORMATS
from fp8core.linear import Side
from kernels.device import Device
from kernels.gemm.blocks import LEAST_STAGES, Blocks, Offer, Variant
from kernels.gemm.hopper.blocks import undecoded
from kernels.gemm.hopper.sizes import CODES, CONSUMERS, DECODED_K, MOST_ROWS, MOST_ROWS_SPLIT, WARPGROUP_WARPS
from kernels.gemm.hopper.storage import decoding, filled, takes_pairs, takes_two
from kernels.gemm.numerics import Numerics
from kernels.gemm.passes.decode import read_as

_ROWS = (16, 32, 64, 128, MOST_ROWS)
_LOADED_BITS = 1024
"""128 bytes of a row, in one load by TMA."""
_STEPS = (DECODED_K, 2 * DECODED_K, 4 * DECODED_K)
_MOST_STAGES = 12
_GROUPS = (8, 16, 32)
_SEVERAL = 4
"""Blocks that few rows may have: so many rows of them share a D of few blocks, too."""


def values_order(numerics: Numerics, blocks: Blocks) -> int:
    """The order along K of values beside decoded codes (in_order): bits of a code as the kernel reads it."""
    spec = numerics.spec
    return read_as(spec.a if blocks.decoded == "a" else spec.b).format.packed_bits


def offers(numerics: Numerics, device: Device) -> Iterator[Offer]:
    """Blocks with the most stages that fit.

    One operand is decoded; the other one goes through a pass, or one more warpgroup decodes it ("ab"). A
    block has all rows of that other operand if they are few, else 256; or 128 of a few hundred, for more
    blocks of D and fewer empty rows. With few rows, more codes come at a time: fewer instructions for each.
    Split-K serves a D with fewer blocks than SMs; a program takes two splits of K if four warpgroups can hold
    the sums.
    """
    able = [side for side in Side if not undecoded(numerics, side)]
    for side in able:
        taller = None if len(able) == 1 else side is Side.A
        bits = read_as(numerics.spec.operand(side)).format.packed_bits
        for rows, block_k in product(_ROWS, _STEPS):
            if block_k > DECODED_K and (rows == MOST_ROWS or block_k * bits > _LOADED_BITS):
                continue
            most = inf if rows == MOST_ROWS else _SEVERAL * MOST_ROWS if 2 * rows == MOST_ROWS else rows
            sides = (CODES, rows) if side is Side.A else (rows, CODES)
            blocks = _blocks(sides, block_k, side.value.lower(), numerics, device)
            yield from _offers(blocks, numerics, device, (_above(rows), most), taller)
    if not _alike(numerics):
        return
    for rows, block_k in product((*_ROWS[:3], MOST_ROWS // 2), _STEPS[:2]):
        few = rows <= MOST_ROWS_SPLIT
        if block_k > DECODED_K and not few:
            continue
        most = _SEVERAL * 2 * MOST_ROWS_SPLIT if rows in (MOST_ROWS_SPLIT, MOST_ROWS_SPLIT // 2) else rows
        blocks = _blocks((rows, CODES), block_k, "ab", numerics, device)
        yield from _offers(blocks, numerics, device, (_above(rows), most if few else inf), None)


def _above(rows: int) -> int:
    return rows // 2 * (rows > _ROWS[0])


def _offers(
    blocks: Blocks, numerics: Numerics, device: Device, rows: tuple[float, float], taller: bool | None
) -> Iterator[Offer]:
    """Blocks of persistent programs, of one program of two splits of K, and of programs that share one."""
    offers = [Offer(blocks=blocks, groups=_GROUPS)]
    two, widens = takes_two(blocks), blocks.decoded == "ab"
    if two:
        pair = replace(blocks, warps=blocks.warps * (1 + widens), persistent=False, split_k=2)
        offers.append(Offer(blocks=_filled(pair, numerics, device), splits=(2,), own_splits=2))
        pair = replace(pair, split_k=4)
        offers.append(Offer(blocks=_filled(pair, numerics, device), splits=(), shared=True, own_splits=2))
    if not two or widens:
        offers.append(Offer(blocks=replace(blocks, persistent=False), splits=(), shared=True))
    for each in offers:
        if each.blocks.stages >= LEAST_STAGES:
            yield replace(each, rows=rows, taller=taller)


def _blocks(sides: tuple[int, int], block_k: int, decoded: str, numerics: Numerics, device: Device) -> Blocks:
    blocks = Blocks(
        variant=Variant.DECODING,
        block_m=sides[0],
        block_n=sides[1],
        block_k=block_k,
        warps=WARPGROUP_WARPS * CONSUMERS,
        stages=LEAST_STAGES,
        persistent=True,
        decoded=decoded,
    )
    return _filled(blocks, numerics, device)


def _filled(blocks: Blocks, numerics: Numerics, device: Device) -> Blocks:
    storage = decoding(numerics, replace(blocks, stages=LEAST_STAGES))
    stages = min(_MOST_STAGES, filled(blocks, storage, device.shared_memory_bytes).stages)
    return replace(blocks, stages=stages - stages % 2 if takes_pairs(blocks) else stages)


def _alike(numerics: Numerics) -> bool:
    """True if the kernel can decode A beside B: both are bytes with scales of one kind, A's one a row."""
    a, b = numerics.spec.a, numerics.spec.b
    if any(undecoded(numerics, side) for side in Side) or a.tile.mn != 1:
        return False
    bytes_ = all(each.format.packed_bits == FORMATS["e4m3"].bits for each in (a, b))
    return bytes_ and (a.scale_rule, a.tile.k) == (b.scale_rule, b.tile.k)
