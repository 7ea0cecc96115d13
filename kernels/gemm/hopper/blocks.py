"""The GEMMs that each warp-specialized variant takes, and the blocks that it offers. Pure; no torch.

A refusal is a sentence, empty for none.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from math import inf

from fp8core.linear import Side
from fp8core.tiles import WHOLE, TileShape
from kernels.device import HOPPER, Device, lacks_gluon
from kernels.gemm.blocks import Blocks, Offer, Variant
from kernels.gemm.hopper import sizes
from kernels.gemm.hopper.sizes import DECODED_K, MOST_ROWS, PROMOTION, TMA_BYTES
from kernels.gemm.hopper.storage import filled, ring, writes_bf16
from kernels.gemm.numerics import Arithmetic, Numerics, ScaleAt
from kernels.gemm.passes.decode import decode_ptx, read_as
from kernels.gemm.tuned import architecture

Mnk = tuple[int, int, int]

_LEAST_TILE = 16
_BYTE_SCALES = ("e8m0", "e4m3")
_TENSOR = TileShape(WHOLE, WHOLE)
_GROUPS = (8, 16, 32, 64)
_LOW_GROUPS = (8, 1, 16)
_FEW_HIGH = 2
"""High blocks of M up to which low ones are always offered: fewer of their rows are empty."""
_MOST_WAVES = 6
"""The most blocks for each SM with which low ones are offered for a large M. With more, a last wave that does
not fill all SMs costs little.
"""
RING_VARIANTS = (Variant.CHAINED, Variant.PROMOTED, Variant.PROMOTED_REUSE, Variant.SMALL_M)


def lacking(numerics: Numerics, mnk: Mnk, device: Device) -> str:
    """Reason why no warp-specialized variant runs this GEMM."""
    m, n, k = mnk
    if reason := _lacking_everywhere(numerics, device):
        return reason
    if n * numerics.out_bytes % TMA_BYTES:
        return f"rows of {n} numbers of D do not start at multiples of {TMA_BYTES} bytes, as TMA needs"
    if m > sizes.LOW[-1][0] and reuses_stages(numerics) and (one_step := _one_step(k)):
        return one_step
    return _unscaled(numerics)


@lru_cache(maxsize=1024)
def _lacking_everywhere(numerics: Numerics, device: Device) -> str:
    if reason := lacks_specialized(device):
        return reason
    if numerics.arithmetic is Arithmetic.NATIVE_MX or numerics.promotion not in (WHOLE, PROMOTION):
        return "warp specialization promotes every 128 products or never"
    return ""


def lacks_specialized(device: Device) -> str:
    if device.capability is not None and device.capability != HOPPER.capability:
        return f"{architecture(device.capability)} has no wgmma"
    return lacks_gluon(device.triton)


@lru_cache(maxsize=1024)
def _unscaled(numerics: Numerics) -> str:
    spec = numerics.spec
    if numerics.scale_at is not ScaleAt.K_LOOP:
        applied = [numerics.applied(side) for side in Side]
        if any(tile is not None and tile.mn not in (1, WHOLE) for tile in applied):
            return "warp specialization takes one scale a row or one in all where they come at the end"
        return ""
    if numerics.arithmetic is not Arithmetic.FP8:
        return "warp specialization multiplies sums of FP8 codes by scales in the K loop, not of bf16 values"
    line, square = TileShape(1, PROMOTION), TileShape(PROMOTION, PROMOTION)
    if spec.a.tile != line or spec.b.tile not in (line, square):
        return f"warp specialization has no loop for tiles {spec.a.tile} · {spec.b.tile}"
    return ""


@lru_cache(maxsize=1024)
def reuses_stages(numerics: Numerics) -> bool:
    """True if D of a high promoted block leaves through memory of A, in the block's last two stages.

    D must be bf16. Scales of columns in the K loop rule this out: they take the registers.
    """
    b_tile = numerics.applied(Side.B)
    column_scales = numerics.scale_at is ScaleAt.K_LOOP and b_tile is not None and b_tile.mn == 1
    return numerics.promotion is not WHOLE and writes_bf16(numerics) and not column_scales


def lacking_to_reuse(numerics: Numerics, mnk: Mnk, device: Device) -> str:
    """Reason why no high block's D leaves through memory of A. One step along K has too little of it."""
    return lacking(numerics, mnk, device) or _one_step(mnk[2])


def _one_step(k: int) -> str:
    if k > PROMOTION:
        return ""
    return f"warp specialization promotes where K has more than one step of {PROMOTION}, and {k} has one"


def chained_refusal(numerics: Numerics) -> str:
    if numerics.promotion is not WHOLE:
        return "the chained variant leaves all of a sum to the tensor core"
    b_tile = numerics.applied(Side.B)
    if b_tile is not None and b_tile.mn == 1 and not writes_bf16(numerics):
        return "the chained variant keeps half a block as fp32, which leaves no registers for column scales"
    return ""


def promoted_refusal(numerics: Numerics) -> str:
    promoted = numerics.promotion is not WHOLE
    return "" if promoted else "the promoted variants do not leave all of a sum to the tensor core"


def reuse_refusal(numerics: Numerics) -> str:
    if reason := promoted_refusal(numerics):
        return reason
    text = "D leaves through memory of A in bf16, without scales of columns in the K loop"
    return "" if reuses_stages(numerics) else text


def small_m_refusal(numerics: Numerics) -> str:
    is_quantized = numerics.spec.a is not None and numerics.spec.b is not None
    return "" if is_quantized else "low blocks multiply quantized operands, whose rows are contiguous along K"


def decoding_refusal(numerics: Numerics) -> str:
    if numerics.arithmetic is not Arithmetic.DEQUANTIZED:
        return "decoding in registers is for values that are multiplied as bf16"
    if numerics.scale_at is ScaleAt.K_LOOP:
        return "decoding in registers has no scales for the sums of a step along K"
    if any(numerics.applied(side) not in (None, _TENSOR) for side in Side):
        return "decoding in registers multiplies finished sums by one scale of each operand"
    reasons = [undecoded(numerics, side) for side in Side]
    return reasons[-1] if all(reasons) else ""


@lru_cache(maxsize=2048)
def undecoded(numerics: Numerics, side: Side) -> str:
    operand = numerics.spec.operand(side)
    if operand is None or not numerics.on_codes(side):
        return f"decoding in registers takes codes with their scales, and {side.value} comes without scales"
    if not decode_ptx(read_as(operand)):
        return f"no few instructions decode {operand.format.name}, in which {side.value} comes"
    if operand.scale_rule.format.name not in _BYTE_SCALES:
        return f"decoding in registers takes scales of one byte, and those of {side.value} are fp32"
    tile = operand.tile
    if tile.mn is WHOLE or tile.k is WHOLE or tile.k < _LEAST_TILE or DECODED_K % tile.k:
        extents = f"{tile.mn or 'all rows'} × {tile.k or 'all of K'}"
        return (
            f"decoding in registers takes scales of 16, 32 or 64 along K, and those of {side.value} are of "
            f"{extents}"
        )
    return ""


def lacking_to_decode(numerics: Numerics, mnk: Mnk, device: Device) -> str:
    """Reason why this GEMM is not decoded here.

    The kernel decodes the larger operand if it can, else the other one, unless that has few rows: blocks are
    tuned for many codes.
    """
    if reason := lacking(numerics, mnk, device):
        return reason
    larger, other = (Side.A, Side.B) if mnk[0] > mnk[1] else (Side.B, Side.A)
    if not undecoded(numerics, larger):
        return ""
    rows = mnk[0] if other is Side.A else mnk[1]
    few = f"decoding in registers is for many codes, and {other.value} has {rows} rows"
    return undecoded(numerics, other) or few * (rows <= MOST_ROWS)


def chained(numerics: Numerics, device: Device) -> Iterator[Offer]:
    yield Offer(blocks=_blocks(Variant.CHAINED, sizes.CHAINED, numerics, device), groups=_GROUPS)


def promoted(numerics: Numerics, device: Device) -> Iterator[Offer]:
    return iter(()) if reuses_stages(numerics) else _high(Variant.PROMOTED, numerics, device)


def promoted_reuse(numerics: Numerics, device: Device) -> Iterator[Offer]:
    return _high(Variant.PROMOTED_REUSE, numerics, device)


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
        stages=sizes.REUSE_STAGES,
        persistent=True,
    )
    return filled(blocks, ring(numerics, blocks), device.shared_memory_bytes)
