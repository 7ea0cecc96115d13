"""Blocks of the kernel that decodes an operand in registers. Pure; no torch."""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import product
from math import inf

from fp8core.formats import FORMATS
from fp8core.linear import Side
from fp8core.recipes import MatmulSpec, OperandSpec
from fp8core.tiles import WHOLE, TileShape
from kernels.device import Device
from kernels.gemm.blocks import LEAST_STAGES, Blocks, Offer, Variant
from kernels.gemm.hopper import refusals
from kernels.gemm.hopper.sizes import CODES, CONSUMERS, DECODED_K, MOST_ROWS_SPLIT
from kernels.gemm.hopper.storage import decoding, filled, takes_pairs, takes_two, takes_two_widened
from kernels.gemm.numerics import Arithmetic, Numerics, ScaleAt
from kernels.gemm.passes.decode import decode_ptx, read_as

BLOCK_K = DECODED_K
MOST_ROWS = 256
"""Rows of the operand that is not decoded, in a block."""
_ROWS = (16, 32, 64, 128, MOST_ROWS)
_LOADED_BITS = 1024
"""128 bytes of a row, in one load by TMA."""
_STEPS = (BLOCK_K, 2 * BLOCK_K, 4 * BLOCK_K)
_MOST_STAGES = 12
_GROUPS = (8, 16, 32)
_SEVERAL = 4
"""Blocks that few rows may have: so many rows of them share a D of few blocks, too."""

_LEAST_TILE = 16
_SCALES = ("e8m0", "e4m3")
_TENSOR = TileShape(WHOLE, WHOLE)


def refusal(numerics: Numerics) -> str:
    """Reason why no operand can be decoded in registers, in a sentence; empty where one can."""
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
    """Reason why an operand is not decoded in registers, in a sentence; empty for none."""
    operand = numerics.spec.operand(side)
    if operand is None or not numerics.on_codes(side):
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


def lacking(numerics: Numerics, mnk: tuple[int, int, int], device: Device) -> str:
    """Reason why this GEMM is not decoded here, in a sentence; empty for none.

    If no kernel decodes the larger operand, it decodes the other one, unless that has few rows: blocks are
    tuned for many codes.
    """
    m, n, _ = mnk
    side = decoded_side(numerics, m, n)
    rows = m if side == "a" else n
    reason = refusals.lacking(numerics, mnk, device)
    if reason or (reason := undecoded(numerics, Side.A if side == "a" else Side.B)):
        return reason
    if side != larger(m, n) and rows <= MOST_ROWS:
        return f"decoding in registers is for many codes, and {side.upper()} has {rows} rows"
    return ""


def larger(m: int, n: int) -> str:
    """Name of the operand with more rows."""
    return "a" if m > n else "b"


def decoded_side(numerics: Numerics, m: int, n: int) -> str:
    """Name of the operand that is decoded, "a" or "b": the larger one, if it can be; else the other one."""
    first = larger(m, n)
    able = not undecoded(numerics, Side.A if first == "a" else Side.B)
    return first if able else {"a": "b", "b": "a"}[first]


def own_splits(blocks: Blocks, k: int) -> int:
    """Number of splits of K that one program takes, one or two.

    It takes two if four warpgroups can hold their sums. Both splits must be equally long, but for a step,
    because their steps alternate. If a short K leaves two of more splits, each has a program: shared memory
    has no room for a second sum.
    """
    splits, length = blocks.splits(k)
    last = -(-k // blocks.block_k) - (splits - 1) * length
    alone = splits == 2 < blocks.split_k
    return 2 if takes_pairs(blocks) and splits % 2 == 0 and last >= length - 1 and not alone else 1


def values_order(numerics: Numerics, blocks: Blocks) -> int:
    """The order along K in which the values lie beside codes decoded in registers: see in_order. It names
    the bits of a code as the kernel reads it.
    """
    return read_as(decoded_operand(numerics.spec, blocks.decoded)).format.packed_bits


def decoded_operand(spec: MatmulSpec, decoded: str) -> OperandSpec:
    """The operand that a plan's `decoded` names, "a" or "b"."""
    return spec.a if decoded == "a" else spec.b


def offers(numerics: Numerics, device: Device) -> Iterator[Offer]:
    """Blocks with the most stages that fit.

    One operand is decoded; the other one goes through a pass. A block has all rows of that other operand if
    they are few, else 256; or 128 of a few hundred: then D has more blocks, and fewer empty rows. With few
    rows, more codes come at a time: fewer instructions for each, and more bytes of a row in a load.

    Split-K serves a D with fewer blocks than the device has SMs. A program takes two splits of K if four
    warpgroups can hold the sums. One more warpgroup can decode the rows of A, without a pass.
    """
    able = [side for side in Side if not undecoded(numerics, side)]
    for side in able:
        taller = None if len(able) == 1 else side is Side.A
        bits = read_as(numerics.spec.operand(side)).format.packed_bits
        for rows, block_k in product(_ROWS, _STEPS):
            if block_k > BLOCK_K and (rows == MOST_ROWS or block_k * bits > _LOADED_BITS):
                continue
            above = rows // 2 * (rows > _ROWS[0])
            most = inf if rows == MOST_ROWS else _SEVERAL * MOST_ROWS if 2 * rows == MOST_ROWS else rows
            sides = (CODES, rows) if side is Side.A else (rows, CODES)
            blocks = _blocks(sides, block_k, side.value.lower(), numerics, device)
            yield from _offers(blocks, takes_two(rows, block_k), numerics, device, (above, most), taller)
    if not _alike(numerics):
        return
    for rows, block_k in product((*_ROWS[:3], MOST_ROWS // 2), _STEPS[:2]):
        few = rows <= MOST_ROWS_SPLIT
        if block_k > BLOCK_K and not few:
            continue
        above = rows // 2 * (rows > _ROWS[0])
        most = _SEVERAL * 2 * MOST_ROWS_SPLIT if rows in (MOST_ROWS_SPLIT, MOST_ROWS_SPLIT // 2) else rows
        blocks = _blocks((rows, CODES), block_k, "ab", numerics, device)
        span = (above, most if few else inf)
        yield from _offers(blocks, takes_two_widened(rows, block_k), numerics, device, span, None)


def _offers(
    blocks: Blocks,
    two: bool,
    numerics: Numerics,
    device: Device,
    rows: tuple[float, float],
    taller: bool | None,
) -> Iterator[Offer]:
    """Blocks of persistent programs, of one program of two splits of K, and of programs that share one."""
    offers = [Offer(blocks=blocks, groups=_GROUPS)]
    if two:
        warps = 2 * blocks.warps if blocks.decoded == "ab" else blocks.warps
        pair = replace(blocks, warps=warps, persistent=False, split_k=2)
        offers.append(Offer(blocks=_filled(pair, numerics, device), splits=(2,), own_splits=2))
        pair = replace(pair, split_k=4)
        offers.append(Offer(blocks=_filled(pair, numerics, device), splits=(), shared=True, own_splits=2))
    if not two or blocks.decoded == "ab":
        offers.append(Offer(blocks=blocks, splits=(), shared=True))
    for each in offers:
        if each.blocks.stages >= LEAST_STAGES:
            yield replace(each, rows=rows, taller=taller)


def _blocks(sides: tuple[int, int], block_k: int, decoded: str, numerics: Numerics, device: Device) -> Blocks:
    """Blocks of persistent programs."""
    blocks = Blocks(
        variant=Variant.DECODING,
        block_m=sides[0],
        block_n=sides[1],
        block_k=block_k,
        warps=4 * CONSUMERS,
        stages=LEAST_STAGES,
        persistent=True,
        decoded=decoded,
    )
    return _filled(blocks, numerics, device)


def _filled(blocks: Blocks, numerics: Numerics, device: Device) -> Blocks:
    """Blocks with the most stages that fit; of two splits of K in a program, with an even number of them."""
    storage = decoding(numerics, replace(blocks, stages=LEAST_STAGES))
    stages = min(_MOST_STAGES, filled(blocks, storage, device.shared_memory_bytes).stages)
    return replace(blocks, stages=stages - stages % 2 if takes_pairs(blocks) else stages)


def _alike(numerics: Numerics) -> bool:
    """True where the kernel can decode A beside B: both are bytes with scales of one kind, A's one a row."""
    a, b = numerics.spec.a, numerics.spec.b
    if any(undecoded(numerics, side) for side in Side) or a.tile.mn != 1:
        return False
    bytes_ = all(each.format.packed_bits == FORMATS["e4m3"].bits for each in (a, b))
    return bytes_ and (a.scale_rule, a.tile.k) == (b.scale_rule, b.tile.k)
