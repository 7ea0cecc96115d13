"""Block-scaled tensor cores of Blackwell: what each of their instructions multiplies, and which one computes
a matmul. Pure; no torch, no GPU.

An instruction multiplies codes by their scales itself. A scale is one byte and holds for a short run of K.

| kind | codes | scale | run of K |
|---|---|---|---|
| mxf8f6f4 | 8, 6 and 4 bits, mixed | E8M0 | 32 |
| mxf4 | e2m1 on both sides | E8M0 | 32 |
| mxf4nvf4 | e2m1 on both sides | E4M3 | 16 |

Source: PTX ISA, tcgen05.mma and mma with .block_scale. Names in machine code are what ptxas made of them.

A tile may be larger than the run: a pass then repeats its scale. So 16×16, 32×32 and 128×128 tiles fit, too.
A power of two in fp32 is a code of E8M0 as well.

Triton 3.9 gives mxf8f6f4 less than it takes. tl.dot_scaled and Gluon's tcgen05_mma_scaled know neither e3m2
nor e2m3. tl.dot_scaled has e4m3 · e2m1 on sm_100; on sm_120 it multiplies them as bf16, and Gluon has no
scaled MMA there. A pass therefore widens codes of 6 and 4 bits to e4m3, which has each of their values. The
instruction would keep a narrow code in a byte of its own anyway, and is no faster for it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from fp8core.formats import FORMATS, FloatFormat, Format
from fp8core.linear import Side
from fp8core.recipes import MatmulSpec, OperandSpec
from fp8core.tiles import WHOLE
from kernels.device import Device, DeviceKind, Unsupported

SCALE_ROWS, SCALE_TILES = 128, 4
"""Scales lie in blocks of so many rows and so many runs of K: tcgen05.cp copies one at a time."""
SCALE_COLUMNS = 4
"""Blocks of scales that a program of the pass writes side by side."""
WIDEN_BLOCK = (16, 128)
"""Rows, and words of four codes, that a program of the pass widens."""


class ScaledCore(Enum):
    """The two block-scaled tensor cores: one of data centers (sm_100 to sm_110), one of sm_120."""

    TCGEN05 = "tcgen05.mma"
    MMA_SYNC = "mma.sync"


class NativeKind(Enum):
    """The `.kind` of a block-scaled multiplication in PTX."""

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
    """What one kind multiplies.

    - formats: what it takes. given: those that reach it as they are; the others are widened to the first.
    - scale, tile_k: the format of a scale and the elements along K that share it.
    - accumulator: the model of its sums, by name in fp8core.accumulators.
    - instructions: what Triton and ptxas make of it on each tensor core.
    """

    formats: tuple[str, ...]
    given: tuple[str, ...]
    scale: str
    tile_k: int
    accumulator: str
    instructions: Mapping[ScaledCore, Instruction]


_TCGEN05, _MMA_SYNC = ScaledCore.TCGEN05, ScaledCore.MMA_SYNC

NATIVE: Mapping[NativeKind, NativeFacts] = {
    NativeKind.MXF4NVF4: NativeFacts(
        formats=("e2m1",),
        given=("e2m1",),
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
        given=("e2m1",),
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
        given=("e4m3", "e5m2"),
        scale="e8m0",
        tile_k=32,
        accumulator="blackwell_fp8",
        instructions={
            _TCGEN05: Instruction(ptx="kind::mxf8f6f4.block_scale", sass="UTCQMMA"),
            _MMA_SYNC: Instruction(ptx="kind::mxf8f6f4.block_scale.scale_vec::1X", sass="QMMA.SF"),
        },
    ),
}
"""The kinds, the fastest first: a matmul is computed by the first that takes it."""

_NONE = "no block-scaled MMA multiplies these operands"


def scaled_core(device: Device) -> ScaledCore | None:
    """The block-scaled tensor core of a device; None where it has none."""
    if device.kind is not DeviceKind.GPU or device.capability is None:
        return None
    return {10: _TCGEN05, 11: _TCGEN05, 12: _MMA_SYNC}.get(device.capability[0])


def native_kind(spec: MatmulSpec, device: Device) -> NativeKind | Unsupported:
    """The kind by which a device multiplies a matmul's codes and scales as they are; or why it does not."""
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


def given_format(kind: NativeKind, format_: Format) -> FloatFormat:
    """The format in which codes of `format_` reach the instruction, after widening."""
    names = NATIVE[kind].given
    return FORMATS[format_.name if format_.name in names else names[0]]


def _takes(facts: NativeFacts, operand: OperandSpec) -> bool:
    """A kind multiplies an operand with tiles along K."""
    fits = operand.tile.k is not WHOLE and operand.tile.k % facts.tile_k == 0
    return fits and facts.scale == _scale_format(operand) and operand.format.name in facts.formats


def _fault(name: str, operand: OperandSpec) -> str:
    """Why no kind multiplies the operand of that name; empty where one does."""
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
    """Formats that one of the kinds multiplies."""
    return ", ".join(sorted({name for each in facts for name in each.formats}))


def _scale_format(operand: OperandSpec) -> str:
    """Name of the one-byte format that holds an operand's scales, or of their own where none does.

    A power of two in fp32 is a code of E8M0, too: the smallest scale in fp32 is 2**-126.
    """
    rule = operand.scale_rule
    return "e8m0" if rule.powers_of_two else rule.format.name
