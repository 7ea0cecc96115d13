"""Reasons why a body of the warp-specialized kernel does not run a GEMM, each in a sentence.

Pure; no torch.
"""

from fp8core.linear import Side
from fp8core.tiles import WHOLE, TileShape
from kernels.device import Device, lacks_gluon
from kernels.gemm.hopper.sizes import LOW, PROMOTION, TMA_BYTES, WGMMA
from kernels.gemm.hopper.storage import writes_bf16
from kernels.gemm.meaning import Arithmetic, Meaning, ScaleAt
from kernels.gemm.tuned import architecture

Mnk = tuple[int, int, int]


def lacking(meaning: Meaning, mnk: Mnk, device: Device) -> str:
    """Reason why no warp-specialized body runs this GEMM, in a sentence; empty where one may."""
    return _lacks_specialized(device) or _lacking(meaning, mnk)


def _lacks_specialized(device: Device) -> str:
    if device.capability is not None and device.capability != WGMMA:
        return f"{architecture(device.capability)} has no wgmma"
    return lacks_gluon(device.triton)


def _lacking(meaning: Meaning, mnk: Mnk) -> str:
    (m, n, k), spec, scale_at = mnk, meaning.spec, meaning.scale_at
    if meaning.arithmetic is Arithmetic.NATIVE_MX or meaning.promotion not in (WHOLE, PROMOTION):
        return "warp specialization promotes every 128 products or never"
    if n * spec.out.bytes % TMA_BYTES:
        return f"rows of {n} numbers of D do not start at multiples of {TMA_BYTES} bytes, as TMA needs"
    if m > LOW[-1][0] and lends(meaning) and (one_step := _one_step(k)):
        return one_step
    if scale_at is not ScaleAt.K_LOOP:
        applied = [meaning.applied(side) for side in Side]
        if any(tile is not None and tile.mn not in (1, WHOLE) for tile in applied):
            return "warp specialization takes one scale a row or one in all where they come at the end"
        return ""
    if meaning.arithmetic is not Arithmetic.FP8:
        return "warp specialization multiplies sums of FP8 codes by scales in the K loop, not of bf16 values"
    line, square = TileShape(1, PROMOTION), TileShape(PROMOTION, PROMOTION)
    if spec.a.tile != line or spec.b.tile not in (line, square):
        return f"warp specialization has no loop for tiles {spec.a.tile} · {spec.b.tile}"
    return ""


def lends(meaning: Meaning) -> bool:
    """True where D of a high promoted block leaves through memory of A, in the block's last two stages.

    D must be bf16. Scales of columns in the K loop rule this out: they take the registers.
    """
    return meaning.promotion is not WHOLE and writes_bf16(meaning) and not _has_many(meaning)


def _has_many(meaning: Meaning) -> bool:
    """True where every column of a block has a scale of its own in the K loop, as every row has."""
    b_tile = meaning.applied(Side.B)
    return meaning.scale_at is ScaleAt.K_LOOP and b_tile is not None and b_tile.mn == 1


def lacking_to_lend(meaning: Meaning, mnk: Mnk, device: Device) -> str:
    """Reason why no high block's D leaves through memory of A. One step along K has too little of it."""
    return lacking(meaning, mnk, device) or _one_step(mnk[2])


def _one_step(k: int) -> str:
    if k > PROMOTION:
        return ""
    return f"warp specialization promotes where K has more than one step of {PROMOTION}, and {k} has one"


def chained_refusal(meaning: Meaning) -> str:
    """Reason why two warpgroups do not chain a sum over a block that they share; empty where they do."""
    if meaning.promotion is not WHOLE:
        return "the chained body leaves all of a sum to the tensor core"
    b_tile = meaning.applied(Side.B)
    if b_tile is not None and b_tile.mn == 1 and not writes_bf16(meaning):
        return "the chained body keeps half a block as fp32, and then no registers are left for column scales"
    return ""


def chained_shared_refusal(meaning: Meaning) -> str:
    """Reason why programs do not chain runs of a sum that they share; empty where they do."""
    keeps = "" if writes_bf16(meaning) else "the shared chained body writes a block as bf16"
    if len(meaning.spec.quantized) < len(Side):
        keeps = (
            "the shared chained body reads operands that are contiguous along K, as a quantizer leaves them"
        )
    return keeps if meaning.promotion is WHOLE else "the chained body leaves all of a sum to the tensor core"


def promoted_refusal(meaning: Meaning) -> str:
    """Reason why high blocks with memory for D do not promote a sum; empty where they do."""
    return few_rows_refusal(meaning)


def lent_refusal(meaning: Meaning) -> str:
    """Reason why high blocks that lend D memory of A do not promote a sum; empty where they do."""
    keeps = (
        ""
        if lends(meaning)
        else "D leaves through memory of A in bf16, without scales of columns in the K loop"
    )
    return few_rows_refusal(meaning) or keeps


def three_refusal(meaning: Meaning) -> str:
    """Reason why three warpgroups do not promote a sum; empty where they do."""
    squares = meaning.scale_at is ScaleAt.K_LOOP and not _has_many(meaning)
    takes = "three warpgroups take no scales of squares in the K loop" if squares else ""
    return few_rows_refusal(meaning) or takes


def few_rows_refusal(meaning: Meaning) -> str:
    """Reason why low blocks do not promote a sum; empty where they do."""
    return "the promoted bodies do not leave all of a sum to the tensor core" * (meaning.promotion is WHOLE)
