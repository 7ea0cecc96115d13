"""The blocks that each variant of the warp-specialized kernel offers. Pure; no torch."""

from collections.abc import Iterator
from dataclasses import replace
from math import inf

from kernels.device import Device
from kernels.gemm.blocks import Blocks, Offer, Variant
from kernels.gemm.hopper import sizes
from kernels.gemm.hopper.refusals import lends
from kernels.gemm.hopper.storage import filled, ring
from kernels.gemm.numerics import Numerics

_GROUPS = (8, 16, 32, 64)
_LOW_GROUPS = (8, 1, 16)
_FEW_HIGH = 2
"""High blocks of M up to which low ones are always offered: fewer of their rows are empty."""
_MOST_WAVES = 6
"""The most blocks for each SM with which low ones are offered for a large M. With more, a last wave that does
not fill all SMs costs little.
"""
RING_VARIANTS = (Variant.CHAINED, Variant.PROMOTED, Variant.PROMOTED_LENT, Variant.SMALL_M)


def chained(numerics: Numerics, device: Device) -> Iterator[Offer]:
    yield Offer(blocks=_blocks(Variant.CHAINED, sizes.CHAINED, numerics, device), groups=_GROUPS)


def promoted(numerics: Numerics, device: Device) -> Iterator[Offer]:
    return iter(()) if lends(numerics) else _high(Variant.PROMOTED, numerics, device)


def promoted_lent(numerics: Numerics, device: Device) -> Iterator[Offer]:
    return _high(Variant.PROMOTED_LENT, numerics, device)


def small_m(numerics: Numerics, device: Device) -> Iterator[Offer]:
    """Low blocks for an M of few rows, or a D of few blocks, with and without split-K."""
    few = _FEW_HIGH * sizes.PROMOTED[0]
    for sides in sizes.LOW:
        blocks = _blocks(Variant.SMALL_M, sides, numerics, device)
        above = sizes.SLAB * (sides[0] > sizes.SLAB)
        for rows, waves in (((above, few), (0, inf)), ((few, inf), (0, _MOST_WAVES))):
            yield Offer(blocks=blocks, rows=rows, waves=waves, shared=True, groups=_LOW_GROUPS)


def _high(variant: Variant, numerics: Numerics, device: Device) -> Iterator[Offer]:
    """High blocks in several orders, with the most stages that fit, or one fewer."""
    blocks = _blocks(variant, sizes.PROMOTED, numerics, device)
    for fewer in (0, 1):
        few = replace(blocks, stages=blocks.stages - fewer)
        yield Offer(blocks=few, rows=(sizes.LOW[-1][0], inf), groups=_GROUPS)


def _blocks(variant: Variant, sides: tuple[int, int], numerics: Numerics, device: Device) -> Blocks:
    blocks = Blocks(
        variant=variant,
        block_m=sides[0],
        block_n=sides[1],
        block_k=sizes.BLOCK_K_BYTES // numerics.multiplied[0].bytes,
        warps=sizes.WARPGROUP_WARPS * sizes.CONSUMERS,
        stages=sizes.LENT_STAGES,
        persistent=True,
    )
    return filled(blocks, ring(numerics, blocks), device.shared_memory_bytes)
