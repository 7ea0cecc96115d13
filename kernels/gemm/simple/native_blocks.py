"""Blocks of the block-scaled kernel, to be timed or to be taken where nothing was timed. Pure; no torch.

No block was ever timed on a Blackwell GPU here. The sizes follow from the instruction's shape, from memory
and from what compiles without a spill.

- sm_100: an instruction is 128 rows high. D of 128 × 256 fills tensor memory, 128 × 128 half of it, so that
  an SM can hold two programs if their stages fit.
- sm_120: D lies in registers, 128 × 128 in those of 8 warps. Shared memory is less than half as large.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from kernels.device import Device, Unsupported
from kernels.gemm.blocks import LEAST_STAGES, Blocks, Body
from kernels.gemm.meaning import Arithmetic, Meaning
from kernels.operand_passes.native import (
    NATIVE,
    SCALE_ROWS,
    ScaledCore,
    native_kind,
    scaled_core,
)

Mnk = tuple[int, int, int]

_ROW_BYTES = 128
"""Bytes of an operand's row in a block: as wide as a TMA box with swizzling is."""
_STAGES = 4
_PAIRED_STAGES = 3
"""Stages with which two programs of 128 × 128 share an SM of a data center."""
_RESERVED_BYTES = 2 << 10
_WARPS = 8


def refusal(meaning: Meaning) -> str:
    """Reason why the block-scaled kernel does not compute a product; empty where it does."""
    native = meaning.arithmetic is Arithmetic.NATIVE_MX
    return "" if native else f"the scaled tensor core's kernel is not for the {meaning.arithmetic.value}"


def lacking(meaning: Meaning, mnk: Mnk, device: Device) -> str:
    """Reason why a device's tensor core does not multiply these codes and scales; empty where it does."""
    kind = native_kind(meaning.spec, device)
    return kind.reason if isinstance(kind, Unsupported) else ""


def candidates(meaning: Meaning, mnk: Mnk, device: Device) -> Iterator[Blocks]:
    """Blocks to choose from, the widest first."""
    sides_n = (256, 128) if scaled_core(device) is ScaledCore.TCGEN05 else (128,)
    wanted = (_blocks(meaning, *one) for one in product(sides_n, (_STAGES, _PAIRED_STAGES)))
    tried = (fit(meaning, blocks, device) for blocks in wanted)
    yield from dict.fromkeys(blocks for blocks in tried if blocks is not None)


def built_in(meaning: Meaning, mnk: Mnk, device: Device) -> Blocks:
    """Blocks for a GEMM that no table has: the widest that leave no SM idle."""
    found = list(candidates(meaning, mnk, device)) or [_blocks(meaning, SCALE_ROWS, LEAST_STAGES)]
    return next((blocks for blocks in found if blocks.count(*mnk[:2]) >= device.sms), found[-1])


def stage_bytes(meaning: Meaning, blocks: Blocks) -> int:
    """Shared memory of one step's codes and scales."""
    elements = (blocks.block_m + blocks.block_n) * blocks.block_k
    return elements * _bits(meaning) // 8 + elements // NATIVE[meaning.native].tile_k


def fit(meaning: Meaning, blocks: Blocks, device: Device) -> Blocks | None:
    """Blocks with as many of their stages as fit the device; None where too few do.

    mma.sync has the last step's operands in registers: Triton keeps one stage less in shared memory.
    """
    held = (device.shared_memory_bytes - _RESERVED_BYTES) // stage_bytes(meaning, blocks)
    stages = min(blocks.stages, held + (scaled_core(device) is ScaledCore.MMA_SYNC))
    return replace(blocks, stages=stages) if stages >= LEAST_STAGES else None


def _blocks(meaning: Meaning, block_n: int, stages: int) -> Blocks:
    block_k = _ROW_BYTES * 8 // _bits(meaning)
    return Blocks(
        body=Body.NATIVE_MX,
        block_m=SCALE_ROWS,
        block_n=block_n,
        block_k=block_k,
        warps=_WARPS,
        stages=stages,
    )


def _bits(meaning: Meaning) -> int:
    """Bits of a code in shared memory; A and B have as many."""
    return meaning.multiplied[0].bits
