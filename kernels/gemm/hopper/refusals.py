"""Reasons why a variant of the warp-specialized kernel does not run a GEMM, each in a sentence.

Pure; no torch.
"""

from dataclasses import dataclass
from functools import lru_cache

from fp8core.linear import Side
from fp8core.tiles import WHOLE, TileShape
from kernels.device import Device, lacks_gluon
from kernels.gemm.hopper.sizes import LOW, PROMOTION, TMA_BYTES, WGMMA
from kernels.gemm.hopper.storage import writes_bf16
from kernels.gemm.numerics import Arithmetic, Numerics, ScaleAt
from kernels.gemm.tuned import architecture

Mnk = tuple[int, int, int]


def lacking(numerics: Numerics, mnk: Mnk, device: Device) -> str:
    """Reason why no warp-specialized variant runs this GEMM, in a sentence; empty for none."""
    (m, n, k), facts = mnk, _of_numerics(numerics, device)
    if facts.reason and not facts.after_shape:
        return facts.reason
    if n * facts.out_bytes % TMA_BYTES:
        return f"rows of {n} numbers of D do not start at multiples of {TMA_BYTES} bytes, as TMA needs"
    if m > LOW[-1][0] and facts.lends and (one_step := _one_step(k)):
        return one_step
    return facts.reason


@dataclass(frozen=True, slots=True)
class _Facts:
    """Facts that no shape changes. after_shape: a reason of the shape comes before this one."""

    reason: str
    after_shape: bool
    lends: bool
    out_bytes: int


@lru_cache(maxsize=1024)
def _of_numerics(numerics: Numerics, device: Device) -> _Facts:
    reason, after = lacks_specialized(device), False
    if not reason and (
        numerics.arithmetic is Arithmetic.NATIVE_MX or numerics.promotion not in (WHOLE, PROMOTION)
    ):
        reason = "warp specialization promotes every 128 products or never"
    if not reason:
        reason, after = _unscaled(numerics), True
    return _Facts(reason, after, lends(numerics), numerics.spec.out.bytes)


def lacks_specialized(device: Device) -> str:
    """Reason why a device runs no warp-specialized variant; empty for none."""
    if device.capability is not None and device.capability != WGMMA:
        return f"{architecture(device.capability)} has no wgmma"
    return lacks_gluon(device.triton)


def _unscaled(numerics: Numerics) -> str:
    """Reason why no loop multiplies by the scales of a matmul; empty for none."""
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


def lends(numerics: Numerics) -> bool:
    """True where D of a high promoted block leaves through memory of A, in the block's last two stages.

    D must be bf16. Scales of columns in the K loop rule this out: they take the registers.
    """
    return numerics.promotion is not WHOLE and writes_bf16(numerics) and not _has_many(numerics)


def _has_many(numerics: Numerics) -> bool:
    """True where every column of a block has a scale of its own in the K loop, as every row has."""
    b_tile = numerics.applied(Side.B)
    return numerics.scale_at is ScaleAt.K_LOOP and b_tile is not None and b_tile.mn == 1


def lacking_to_lend(numerics: Numerics, mnk: Mnk, device: Device) -> str:
    """Reason why no high block's D leaves through memory of A. One step along K has too little of it."""
    return lacking(numerics, mnk, device) or _one_step(mnk[2])


def _one_step(k: int) -> str:
    if k > PROMOTION:
        return ""
    return f"warp specialization promotes where K has more than one step of {PROMOTION}, and {k} has one"


def chained_refusal(numerics: Numerics) -> str:
    """Reason why two warpgroups do not chain a sum over a block that they share; empty where they do."""
    if numerics.promotion is not WHOLE:
        return "the chained variant leaves all of a sum to the tensor core"
    b_tile = numerics.applied(Side.B)
    if b_tile is not None and b_tile.mn == 1 and not writes_bf16(numerics):
        return "the chained variant keeps half a block as fp32, which leaves no registers for column scales"
    return ""


def promoted_refusal(numerics: Numerics) -> str:
    """Reason why high blocks with memory for D do not promote a sum; empty where they do."""
    return "the promoted variants do not leave all of a sum to the tensor core" * (
        numerics.promotion is WHOLE
    )


def lent_refusal(numerics: Numerics) -> str:
    """Reason why high blocks that lend D memory of A do not promote a sum; empty where they do."""
    keeps = (
        ""
        if lends(numerics)
        else "D leaves through memory of A in bf16, without scales of columns in the K loop"
    )
    return promoted_refusal(numerics) or keeps


def small_m_refusal(numerics: Numerics) -> str:
    """Reason why low blocks do not multiply operands; empty where they do."""
    is_quantized = numerics.spec.a is not None and numerics.spec.b is not None
    return "" if is_quantized else "low blocks multiply quantized operands, whose rows are contiguous along K"
