"""Blocks of kernels.gemm.hopper.narrow, and the GEMMs that it takes. Pure; no torch."""

from collections.abc import Iterator

from fp8core.formats import FORMATS
from fp8core.tiles import WHOLE
from kernels.device import Device
from kernels.gemm.blocks import Blocks, Body
from kernels.gemm.hopper.sizes import BLOCK_K_BYTES, NARROW, NARROW_STEPS, NARROW_WARPS, PROMOTION
from kernels.gemm.hopper.storage import filled, narrow
from kernels.gemm.meaning import Arithmetic, Meaning, ScaleAt


def refusal(meaning: Meaning) -> str:
    """Reason why narrow blocks do not compute a GEMM, in a sentence; empty where they do."""
    spec, promotion = meaning.spec, meaning.promotion
    lines = all(operand.tile.mn in (1, WHOLE) for operand in spec.quantized)
    if meaning.arithmetic is not Arithmetic.FP8 or meaning.scale_at is not ScaleAt.EPILOGUE or not lines:
        return "narrow blocks are of FP8 codes with one scale a row, or in all"
    if promotion not in (WHOLE, PROMOTION):
        return f"narrow blocks are promoted every {PROMOTION} products or never"
    if spec.out != FORMATS["bf16"]:
        return f"narrow blocks are written in bf16, not {spec.out.name}"
    return ""


def candidates(meaning: Meaning, mnk: tuple[int, int, int], device: Device) -> Iterator[Blocks]:
    """Blocks to choose from, with the most stages that fit; none where D has more of them than the device has
    SMs.
    """
    block_m, block_n = NARROW
    blocks = Blocks(
        body=Body.NARROW,
        block_m=block_m,
        block_n=block_n,
        block_k=NARROW_STEPS * BLOCK_K_BYTES // meaning.spec.a.format.bytes,
        warps=NARROW_WARPS,
        stages=1,
    )
    if blocks.count(*mnk[:2]) <= device.sms:
        yield filled(blocks, narrow(meaning, blocks), device.shared_memory_bytes)
