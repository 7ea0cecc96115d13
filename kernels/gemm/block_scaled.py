"""Block-scaled tensor cores of Blackwell: instructions, the choice for a matmul, and the blocks of their
kernel (kernels/gemm/blackwell.py). Pure; no torch, no GPU. Never run on a Blackwell GPU, only compiled.

An instruction multiplies codes by their scales itself. A scale is one byte and holds for a short run of K.

| kind | codes | scale | run of K |
|---|---|---|---|
| mxf8f6f4 | 8, 6 and 4 bits, mixed | E8M0 | 32 |
| mxf4 | e2m1 on both sides | E8M0 | 32 |
| mxf4nvf4 | e2m1 on both sides | E4M3 | 16 |

Source: PTX ISA, tcgen05.mma and mma with .block_scale. Names in machine code are ptxas's. For a tile larger
than the run, a pass repeats its scale. A power of two in fp32 is a code of E8M0.

Triton 3.9 gives mxf8f6f4 neither e3m2 nor e2m3, and on sm_120 multiplies e4m3 · e2m1 as bf16. A pass
therefore widens codes of 6 and 4 bits to e4m3, which has each of their values. The instruction would keep a
narrow code in a byte anyway, and is no faster for it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

from fp8core.formats import FORMATS, FloatFormat, Format
from fp8core.linear import Side
from fp8core.recipes import MatmulSpec, OperandSpec
from fp8core.tiles import WHOLE
from kernels.device import Device, DeviceKind, Unsupported
from kernels.gemm.blocks import LEAST_STAGES, Blocks, Variant

if TYPE_CHECKING:
    from kernels.gemm.numerics import Numerics

SCALE_ROWS, SCALE_TILES = 128, 4
"""Rows and runs of K in a block of scales: tcgen05.cp copies one block at a time."""
_ROW_BYTES = 128
"""Bytes of an operand's row in a block: the width of a TMA box with swizzling."""
_STAGES, _PAIRED_STAGES = 4, 3
"""With the second, two programs of 128 × 128 share an SM of a data center."""
_RESERVED_BYTES = 2 << 10
_WARPS = 8


class ScaledCore(Enum):
    TCGEN05 = "tcgen05.mma"
    MMA_SYNC = "mma.sync"


class NativeKind(Enum):
    MXF8F6F4 = "mxf8f6f4"
    MXF4 = "mxf4"
    MXF4NVF4 = "mxf4nvf4"


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """Names of an instruction: its .kind with the scales' suffix in PTX, and the start of it in SASS."""

    ptx: str
    sass: str


@dataclass(frozen=True, kw_only=True)
class NativeFacts:
    """Operands of one kind.

    - formats: all that it takes. unwidened: those that reach it as they are; others are widened to the first.
    - scale, tile_k: the format of a scale and the elements along K that share it.
    - accumulator: the model of its sums, by name in fp8core.accumulators.
    - instructions: names that Triton and ptxas give it on each tensor core.
    """

    formats: tuple[str, ...]
    unwidened: tuple[str, ...]
    scale: str
    tile_k: int
    accumulator: str
    instructions: Mapping[ScaledCore, Instruction]


_TCGEN05, _MMA_SYNC = ScaledCore.TCGEN05, ScaledCore.MMA_SYNC

NATIVE: Mapping[NativeKind, NativeFacts] = {
    NativeKind.MXF4NVF4: NativeFacts(
        formats=("e2m1",),
        unwidened=("e2m1",),
        scale="e4m3",
        tile_k=16,
        accumulator="blackwell_fp4",
        instructions={
            _TCGEN05: Instruction(ptx="kind::mxf4nvf4.block_scale", sass="UTCOMMA.4X"),
            _MMA_SYNC: Instruction(
                ptx="kind::mxf4nvf4.block_scale.scale_vec::4X", sass="OMMA.SF.16864.F32.E2M1.E2M1.UE4M3.4X"
            ),
        },
    ),
    NativeKind.MXF4: NativeFacts(
        formats=("e2m1",),
        unwidened=("e2m1",),
        scale="e8m0",
        tile_k=32,
        accumulator="blackwell_fp4",
        instructions={
            _TCGEN05: Instruction(ptx="kind::mxf4.block_scale", sass="UTCOMMA"),
            # mma.sync has no kind mxf4 of its own in Triton: mxf4nvf4 with two scales for 64 products is it
            _MMA_SYNC: Instruction(
                ptx="kind::mxf4nvf4.block_scale.scale_vec::2X", sass="OMMA.SF.16864.F32.E2M1.E2M1.E8"
            ),
        },
    ),
    NativeKind.MXF8F6F4: NativeFacts(
        formats=("e4m3", "e5m2", "e3m2", "e2m3", "e2m1"),
        unwidened=("e4m3", "e5m2"),
        scale="e8m0",
        tile_k=32,
        accumulator="blackwell_fp8",
        instructions={
            _TCGEN05: Instruction(ptx="kind::mxf8f6f4.block_scale", sass="UTCQMMA"),
            _MMA_SYNC: Instruction(ptx="kind::mxf8f6f4.block_scale.scale_vec::1X", sass="QMMA.SF"),
        },
    ),
}
"""The kinds, the fastest first: the first that takes a matmul computes it."""

_NONE = "no block-scaled MMA multiplies these operands"


def scaled_core(device: Device) -> ScaledCore | None:
    if device.kind is not DeviceKind.GPU or device.capability is None:
        return None
    return {10: _TCGEN05, 11: _TCGEN05, 12: _MMA_SYNC}.get(device.capability[0])


def native_kind(spec: MatmulSpec, device: Device) -> NativeKind | Unsupported:
    if scaled_core(device) is None:
        return Unsupported(f"{device.name} has no MMA that takes scales along K, which came with Blackwell")
    return kind_of(spec)


def kind_of(spec: MatmulSpec) -> NativeKind | Unsupported:
    """The kind that multiplies a matmul's codes and scales; or a sentence saying why none does."""
    able: list[list[NativeKind]] = []
    for side in Side:
        operand = spec.operand(side)
        reason = f"{side.value} stays bf16" if operand is None else _fault(side.value, operand)
        if operand is None or reason:
            return Unsupported(f"{_NONE}: {reason}")
        able.append([kind for kind in NATIVE if _takes(NATIVE[kind], operand)])
    shared = [kind for kind in able[0] if kind in able[1]]
    if shared:
        return shared[0]
    a, b = (NATIVE[kinds[0]].scale.upper() for kinds in able)
    return Unsupported(f"{_NONE}: A's scales are {a} and B's {b}, and such an MMA takes scales of one format")


def instruction_format(kind: NativeKind, format_: Format) -> FloatFormat:
    names = NATIVE[kind].unwidened
    return FORMATS[format_.name if format_.name in names else names[0]]


def _takes(facts: NativeFacts, operand: OperandSpec) -> bool:
    fits = operand.tile.k is not WHOLE and operand.tile.k % facts.tile_k == 0
    return fits and facts.scale == _scale_format(operand) and operand.format.name in facts.formats


def _fault(name: str, operand: OperandSpec) -> str:
    """Reason why no kind multiplies the operand of that name; empty for none."""
    format_, outer, scale = operand.format.name, operand.scale_rule.outer, _scale_format(operand)
    if operand.tile.k is WHOLE:
        return f"{name} has one scale for all of K, which the epilogue applies"
    every = [facts for facts in NATIVE.values() if format_ in facts.formats]
    if not every:
        return f"{name} is {format_}, and such an MMA multiplies {_listed(NATIVE.values())}"
    if outer is not None and outer.tile.k is not WHOLE:
        return f"{name}'s outer scale changes every {outer.tile.k} along K"
    of_scale = [facts for facts in NATIVE.values() if facts.scale == scale]
    if not of_scale:
        return f"{name}'s scales are {scale}, and such an MMA takes those of one byte, E8M0 or E4M3"
    of_both = [facts for facts in of_scale if facts in every]
    if not of_both:
        under = f"under {scale.upper()} scales such an MMA multiplies {_listed(of_scale)}"
        return f"{name} is {format_}, and {under}"
    if not any(_takes(facts, operand) for facts in of_both):
        run = f"a scale of {scale.upper()} holds for {of_both[0].tile_k}"
        return f"{name}'s tiles are {operand.tile.k} long along K, and {run} there"
    return ""


def _listed(facts: Iterable[NativeFacts]) -> str:
    return ", ".join(sorted({name for each in facts for name in each.formats}))


def _scale_format(operand: OperandSpec) -> str:
    """Name of the one-byte format that holds an operand's scales, or of their own.

    The smallest scale in fp32 is 2**-126, so any power of two in fp32 is a code of E8M0.
    """
    rule = operand.scale_rule
    return "e8m0" if rule.powers_of_two else rule.format.name


@lru_cache(maxsize=1024)
def lacking(numerics: "Numerics", device: Device) -> str:
    kind = native_kind(numerics.spec, device)
    return kind.reason if isinstance(kind, Unsupported) else ""


def candidates(numerics: "Numerics", device: Device) -> Iterator[Blocks]:
    """Blocks to choose from, the widest first.

    sm_100: an instruction is 128 rows high. D of 128 × 128 fills half of tensor memory, so that an SM can
    hold two programs. sm_120: D of 128 × 128 fills the registers of 8 warps, and shared memory is less than
    half as large.
    """
    sides_n = (256, 128) if scaled_core(device) is _TCGEN05 else (128,)
    widest = (_blocks(numerics, *each) for each in product(sides_n, (_STAGES, _PAIRED_STAGES)))
    fitting = (fit(numerics, blocks, device) for blocks in widest)
    yield from dict.fromkeys(blocks for blocks in fitting if blocks is not None)


def built_in(numerics: "Numerics", mnk: tuple[int, int, int], device: Device) -> Blocks:
    """Blocks for a GEMM that no table has: the widest that leave no SM idle."""
    choices = list(candidates(numerics, device)) or [_blocks(numerics, SCALE_ROWS, LEAST_STAGES)]
    return next((blocks for blocks in choices if blocks.count(*mnk[:2]) >= device.sms), choices[-1])


def stage_bytes(numerics: "Numerics", blocks: Blocks) -> int:
    elements = (blocks.block_m + blocks.block_n) * blocks.block_k
    return elements * _bits(numerics) // 8 + elements // NATIVE[numerics.native].tile_k


def fit(numerics: "Numerics", blocks: Blocks, device: Device) -> Blocks | None:
    """Blocks with as many of their stages as fit the device; None for too few.

    mma.sync has the last step's operands in registers: Triton keeps one stage less in shared memory.
    """
    most = (device.shared_memory_bytes - _RESERVED_BYTES) // stage_bytes(numerics, blocks)
    stages = min(blocks.stages, most + (scaled_core(device) is _MMA_SYNC))
    return replace(blocks, stages=stages) if stages >= LEAST_STAGES else None


def _blocks(numerics: "Numerics", block_n: int, stages: int) -> Blocks:
    block_k = _ROW_BYTES * 8 // _bits(numerics)
    return Blocks(
        variant=Variant.NATIVE_MX,
        block_m=SCALE_ROWS,
        block_n=block_n,
        block_k=block_k,
        warps=_WARPS,
        stages=stages,
    )


def _bits(numerics: "Numerics") -> int:
    return numerics.multiplied[0].bits
