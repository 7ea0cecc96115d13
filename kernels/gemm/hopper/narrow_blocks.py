"""The blocks of kernels.gemm.hopper.narrow, and which GEMMs it takes. Pure; no torch."""

from collections.abc import Iterator

from fp8core.formats import FORMATS
from fp8core.recipes import MatmulSpec
from fp8core.tiles import WHOLE
from kernels.device import Device
from kernels.gemm.blocks import Blocks, Schedule
from kernels.gemm.hopper.sizes import BARRIER_BYTES, BLOCK_K_BYTES, PROMOTION, SLAB
from kernels.gemm.meaning import Arithmetic, ScaleAt

SIDES = (SLAB, SLAB // 2)
"""BLOCK_M × BLOCK_N: 4096 columns are 128 blocks, for 132 SMs."""
STEPS = 2
"""Along K in a stage: a load takes 128 bytes of a row at most, and a promotion as many products."""
WARPS = 4
"""That multiply; one more loads."""


def is_narrow(blocks: Blocks) -> bool:
    """Whether kernels.gemm.hopper.narrow carries them out."""
    return blocks.schedule is Schedule.SPECIALIZED and (blocks.block_m, blocks.block_n) == SIDES


def lacking(spec: MatmulSpec, kernel: Arithmetic, scale_at: ScaleAt, promotion: object) -> str:
    """Why the kernel cannot run this GEMM; empty where it can."""
    lines = all(operand.tile.mn in (1, WHOLE) for operand in (spec.a, spec.b))
    if kernel is not Arithmetic.FP8 or scale_at is not ScaleAt.EPILOGUE or not lines:
        return "narrow blocks are of FP8 codes with one scale a row, or in all"
    if promotion not in (WHOLE, PROMOTION):
        return f"narrow blocks are promoted every {PROMOTION} products or never"
    if spec.out != FORMATS["bf16"]:
        return f"narrow blocks are written in bf16, not {spec.out.name}"
    return ""


def candidates(
    spec: MatmulSpec,
    kernel: Arithmetic,
    scale_at: ScaleAt,
    promotion: object,
    mnk: tuple[int, int, int],
    device: Device,
) -> Iterator[Blocks]:
    """The blocks to choose from, with the most stages that fit: where D has no more of them than there are
    SMs.
    """
    block_m, block_n = SIDES
    if lacking(spec, kernel, scale_at, promotion):
        return
    stage = STEPS * (block_m + block_n) * BLOCK_K_BYTES
    blocks = Blocks(
        schedule=Schedule.SPECIALIZED,
        block_m=block_m,
        block_n=block_n,
        block_k=STEPS * BLOCK_K_BYTES // spec.a.format.bytes,
        warps=WARPS,
        stages=(device.shared_memory_bytes - BARRIER_BYTES) // stage,
    )
    if blocks.count(*mnk[:2]) <= device.sms:
        yield blocks
