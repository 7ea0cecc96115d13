"""Blocks of the simple kernel: its offers, and built-in ones for a GPU without rates. Pure; no torch."""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import product
from math import inf
from typing import Any

from fp8core.formats import FORMATS
from fp8core.linear import Side
from fp8core.tiles import WHOLE
from kernels.device import Device
from kernels.gemm import block_scaled
from kernels.gemm.blocks import FEW, LEAST_STAGES, Blocks, Offer
from kernels.gemm.numerics import FP8_FORMATS, Arithmetic, Numerics
from kernels.gemm.passes.decode import Decoding, decoding_of
from kernels.quantize.facts import K_PADDING

Mnk = tuple[int, int, int]

_HOPPER, _RTX = (9, 0), (12, 0)
"""From the first on, warpgroups multiply from shared memory; from the second on, warps from registers."""
_BF16_BLOCK_K = 64

THREADS_A_WARP = 32
_ROWS_A_WARP = 16
_ACCUMULATORS = 128
_PROMOTED_ACCUMULATORS = 64
_VERY_FEW = 32
"""Blocks have all of M in their narrow side up to this; up to FEW there are others, too."""
_LEAST_ROWS, _LOW = 16, 64
_NARROW_SIDES_N = (64, 128)


_FP8_SIDES = (
    (128, 256, 8, 1),
    (128, 128, 8, 1),
    (128, 64, 4, 1),
    (64, 128, 4, 1),
    (64, 64, 4, 1),
    (64, 64, 4, 2),
    (64, 32, 4, 1),
    (64, 32, 4, 2),
)
_BF16_SIDES = ((128, 128, 8, 1), (128, 64, 4, 2), (64, 128, 4, 1), (64, 64, 4, 1))
"""BLOCK_M, BLOCK_N, warps, and BLOCK_K in least steps, of blocks that were among the fastest for some shape.
The first takes all registers: others are as fast for D in bf16.
"""
_STAGES, _FEW_STAGES = 6, 3
_MAX_STAGES = 8
_WAVES = 4
_SPLITS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Each is compiled by itself, so there are not more of them."""


def undecodable(numerics: Numerics, blocks: Blocks) -> str:
    """Reason why the simple kernel does not decode as these blocks say; empty for none."""
    able = decodable(numerics)
    if set(blocks.decoded) <= set(able):
        return ""
    return f"the simple kernel decodes {able.upper() or 'neither A nor B'} in the K loop here"


def offers(numerics: Numerics, device: Device) -> Iterator[Offer]:
    """Blocks to choose from: for few tokens, for more, and those that decode both operands."""
    yield from _few_tokens(numerics, device)
    least = FEW // 2 if numerics.arithmetic is Arithmetic.DEQUANTIZED else _VERY_FEW
    of_fp8, writes_fp32 = numerics.arithmetic is Arithmetic.FP8, numerics.spec.out == FORMATS["fp32"]
    for block_m, block_n, warps, longer in _FP8_SIDES if of_fp8 else _BF16_SIDES:
        sums = block_m * block_n // (THREADS_A_WARP * warps)
        if sums > _most_sums(numerics, device) or (sums == _ACCUMULATORS and not writes_fp32):
            continue
        block_k = step_k(numerics) * (longer if numerics.promotion is WHOLE else 1)
        group = 32 if numerics.promotion is not WHOLE else 8
        blocks = _blocks(device, block_m, block_n, block_k, warps=warps, group=group)
        above = max(least, _LOW * (block_m > _LOW), FEW * (block_n not in _NARROW_SIDES_N))
        most = _WAVES if block_n < 128 else inf
        spills = sums == _ACCUMULATORS  # all but the first
        splits = (1,) if spills else _SPLITS
        yield from _offer(numerics, blocks, device, rows=(above, inf), waves=(0, most), splits=splits)
        # More blocks than SMs: an SM may hold several programs, if none takes all of its memory.
        fewer = replace(blocks, stages=_FEW_STAGES)
        yield from _offer(numerics, fewer, device, rows=(above, inf), waves=(1, most))
        if not spills:
            fewer = replace(blocks, persistent=True)
            yield from _offer(numerics, fewer, device, rows=(max(above, FEW), inf), waves=(1, most))
    if decodable(numerics) == "ab":
        yield from _without_passes(numerics, device, least)


def _offer(numerics: Numerics, blocks: Blocks, device: Device, **facts: Any) -> Iterator[Offer]:
    fitting = fit(numerics, blocks, device)
    if fitting is not None:
        yield Offer(blocks=fitting, **facts)


@lru_cache(maxsize=1024)
def decodable(numerics: Numerics) -> str:
    """The operands whose codes the simple kernel can decode in the K loop: "", "a", "b" or "ab".

    Their codes are bytes that a shift decodes, with one level of scales of one format.
    """
    able = ""
    for side in Side:
        operand = numerics.spec.operand(side)
        if operand is not None and numerics.on_codes(side) and numerics.applied(side) is None:
            shifted = operand.format in FP8_FORMATS and decoding_of(operand) is Decoding.SHIFT
            able += side.value.lower() * (shifted and operand.tile.k is not WHOLE)
    formats = {operand.scale_rule.format.name for operand in numerics.spec.quantized}
    return able if len(formats) == 1 else ""


def _few_tokens(numerics: Numerics, device: Device) -> Iterator[Offer]:
    """Blocks with all of M, or half of it, in the narrow side of the tensor core's blocks.

    A dequantizing plan gets blocks that decode in the K loop: its pass would take most of the time here.
    """
    able = decodable(numerics) if numerics.arithmetic is Arithmetic.DEQUANTIZED else ""
    heights = (16, 32, 64, 128, 256)
    kinds = [(height, True, "") for height in heights]
    if able:
        kinds = [(height, True, "ab") for height in heights if able == "ab" and height <= 2 * _LOW]
        kinds += [(height, False, "b") for height in heights if "b" in able and height >= _LOW]
    for (block_m, transposed, decoded), block_n, warps in product(kinds, _NARROW_SIDES_N, (4, 8)):
        sums = block_m * block_n // (THREADS_A_WARP * warps)
        if sums > _most_sums(numerics, device) or (block_n if transposed else block_m) < _ROWS_A_WARP * warps:
            continue
        if block_m * block_n > 2 * _LOW * _LOW and transposed and not decoded:
            continue
        if not decoded and 2 * sums <= _most_sums(numerics, device) and warps > 4:  # 4 warps can hold it
            continue
        block_k = step_k(numerics) * (2 if decoded else 1)
        blocks = _blocks(
            device, block_m, block_n, block_k, warps=warps, transposed=transposed, decoded=decoded
        )
        least = 0 if block_m == _LOW and not transposed else block_m // 2 * (block_m > _LEAST_ROWS)
        rows = (least, min(FEW, block_m * (1 + (block_m >= _LOW))))
        tries = [replace(blocks, stages=_FEW_STAGES)] if block_m >= _LOW or decoded else []
        for each in (blocks, *tries):
            yield from _offer(numerics, each, device, rows=rows, splits=_SPLITS)
        if not decoded and numerics.promotion is WHOLE:
            longer = replace(blocks, block_k=2 * step_k(numerics), stages=_FEW_STAGES)
            yield from _offer(numerics, longer, device, rows=rows)


def _without_passes(numerics: Numerics, device: Device, least: int) -> Iterator[Offer]:
    """Blocks that decode both operands in the K loop: two passes may take longer than a small GEMM.

    Decoding takes most of the time of a low block: twice the warps share it there.
    """
    sides = [(*sides, 8 if sides[1] > _LOW else 4) for sides in product((_LOW, 2 * _LOW), repeat=2)]
    sides += [(_LOW // 2, _LOW, 8), (_LOW, _LOW, 8)]
    for block_m, block_n, warps in sides:
        block_k = 2 * step_k(numerics)
        blocks = _blocks(device, block_m, block_n, block_k, warps=warps, transposed=True, decoded="ab")
        tries = [blocks, replace(blocks, stages=_FEW_STAGES)]
        if block_n == _LOW and warps > 4:
            tries.append(replace(blocks, block_k=2 * blocks.block_k, stages=_FEW_STAGES))
        for each in tries:
            yield from _offer(numerics, each, device, rows=(least, inf), waves=(0, _WAVES), splits=_SPLITS)


def _blocks(device: Device, block_m: int, block_n: int, block_k: int, **rest: Any) -> Blocks:
    """Blocks with the usual stages."""
    sizes = {"block_m": block_m, "block_n": block_n, "block_k": block_k}
    return Blocks(**sizes, stages=_STAGES, tma=has_tma(device), **rest)


def _most_sums(numerics: Numerics, device: Device) -> int:
    """The most elements of D in a thread. A promoted sum counts twice. mma.sync has its factors in registers
    as well.
    """
    by_groups = device.capability is None or _HOPPER <= device.capability < _RTX
    return _ACCUMULATORS if numerics.promotion is WHOLE and by_groups else _PROMOTED_ACCUMULATORS


def step_k(numerics: Numerics) -> int:
    if numerics.promotion is not WHOLE:
        return numerics.promotion
    return _BF16_BLOCK_K if numerics.arithmetic is Arithmetic.DEQUANTIZED else K_PADDING


def has_tma(device: Device) -> bool:
    return device.capability is None or device.capability >= _HOPPER


def fit(numerics: Numerics, blocks: Blocks, device: Device) -> Blocks | None:
    if blocks.stages > _MAX_STAGES:
        return None
    if numerics.arithmetic is Arithmetic.NATIVE_MX:
        return block_scaled.fit(numerics, blocks, device)
    return blocks.within(device.shared_memory_bytes, numerics.multiplied[0].bytes, numerics.out_bytes)


def built_in(numerics: Numerics, mnk: Mnk, device: Device) -> Blocks:
    """Blocks for a GEMM that no table has, good on an H200, with the stages that fit here."""
    if numerics.arithmetic is Arithmetic.NATIVE_MX:
        return block_scaled.built_in(numerics, mnk, device)
    low = replace(_blocks(device, 64, 128, step_k(numerics), warps=4), stages=4)
    middle = replace(low, block_m=128, warps=4 if has_tma(device) else 8)
    large = replace(middle, block_n=256, warps=8, stages=3, persistent=True)
    if numerics.promotion is not WHOLE:
        # Small enough for three programs on an SM: one promotes while another multiplies.
        choices = [replace(low, stages=3, group=32)]
    elif mnk[0] <= low.block_m:
        choices = [low]
    elif large.count(*mnk[:2]) < device.sms:
        choices = [middle, low]
    else:
        choices = [large, middle, low]
    for blocks in choices:
        fitting = fit(numerics, blocks, device)
        if fitting is not None and (fitting == blocks or not blocks.persistent):
            return fitting
    return replace(choices[-1], stages=LEAST_STAGES)
