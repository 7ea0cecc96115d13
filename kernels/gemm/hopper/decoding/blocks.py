"""Blocks of the kernel that decodes an operand in registers. Pure; no torch."""

from fp8core.linear import Side
from fp8core.recipes import MatmulSpec, OperandSpec
from fp8core.tiles import WHOLE, TileShape
from kernels.device import Device
from kernels.gemm.blocks import Blocks
from kernels.gemm.hopper import refusals
from kernels.gemm.hopper.sizes import DECODED_K, HALF_AN_SM, MOST_ROWS_SPLIT
from kernels.gemm.hopper.storage import Storage, takes_pairs
from kernels.gemm.meaning import Arithmetic, Meaning, ScaleAt
from kernels.operand_passes.decode_ptx import decode_ptx, read_as

BLOCK_K = DECODED_K
MOST_ROWS = 256
"""Rows of the operand that is not decoded, in a block."""

_LEAST_TILE = 16
_SCALES = ("e8m0", "e4m3")
_TENSOR = TileShape(WHOLE, WHOLE)


def refusal(meaning: Meaning) -> str:
    """Reason why no operand can be decoded in registers, in a sentence; empty where one can."""
    if meaning.arithmetic is not Arithmetic.DEQUANTIZED:
        return "decoding in registers is for values that are multiplied as bf16"
    if meaning.scale_at is ScaleAt.K_LOOP:
        return "decoding in registers has no scales for the sums of a step along K"
    if any(meaning.applied(side) not in (None, _TENSOR) for side in Side):
        return "decoding in registers multiplies finished sums by one scale of each operand"
    reasons = [undecoded(meaning, side) for side in Side]
    return reasons[-1] if all(reasons) else ""


def undecoded(meaning: Meaning, side: Side) -> str:
    """Reason why an operand is not decoded in registers, in a sentence; empty where it may be."""
    operand = meaning.spec.operand(side)
    if operand is None or not meaning.on_codes(side):
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


def lacking(meaning: Meaning, mnk: tuple[int, int, int], device: Device) -> str:
    """Reason why this GEMM is not decoded here, in a sentence; empty where it is.

    Where the larger operand cannot be decoded, the other one is, unless it has few rows: blocks are tuned for
    many codes.
    """
    m, n, _ = mnk
    side = decoded_side(meaning, m, n)
    rows = m if side == "a" else n
    reason = refusals.lacking(meaning, mnk, device)
    if reason or (reason := undecoded(meaning, Side.A if side == "a" else Side.B)):
        return reason
    if side != larger(m, n) and rows <= MOST_ROWS:
        return f"decoding in registers is for many codes, and {side.upper()} has {rows} rows"
    return ""


def larger(m: int, n: int) -> str:
    """Name of the operand with more rows."""
    return "a" if m > n else "b"


def decoded_side(meaning: Meaning, m: int, n: int) -> str:
    """Name of the operand that is decoded, "a" or "b": the larger one, if it can be; else the other one."""
    first = larger(m, n)
    able = not undecoded(meaning, Side.A if first == "a" else Side.B)
    return first if able else {"a": "b", "b": "a"}[first]


def runs_each(blocks: Blocks, k: int) -> int:
    """Number of runs of K that one program takes, one or two.

    It takes two where four warpgroups can hold their sums. Both runs must also be equally long, but for a
    step, because their steps come one after the other. Where K is too short for all runs and two are left,
    each has a program: shared memory has no sums for them.
    """
    runs, length = blocks.runs(k)
    last = -(-k // blocks.block_k) - (runs - 1) * length
    alone = runs == 2 < blocks.split_k
    return 2 if takes_pairs(blocks) and runs % 2 == 0 and last >= length - 1 and not alone else 1


def beside(blocks: Blocks, storage: Storage, k: int) -> bool:
    """True where an SM holds two programs: with small sums of two warpgroups, and half of its memory each."""
    small = value_rows(blocks) <= MOST_ROWS_SPLIT and runs_each(blocks, k) == 1
    return small and not blocks.persistent and storage.bytes <= HALF_AN_SM


def values_order(meaning: Meaning, blocks: Blocks) -> int:
    """The order along K in which the values lie beside codes decoded in registers: see in_order. It names
    the bits of a code as the kernel reads it.
    """
    return read_as(decoded_operand(meaning.spec, blocks.decoded)).format.packed_bits


def decoded_operand(spec: MatmulSpec, decoded: str) -> OperandSpec:
    """The operand that a plan's `decoded` names, "a" or "b"."""
    return spec.a if decoded == "a" else spec.b


def value_rows(blocks: Blocks) -> int:
    """Rows that a block has of the operand that a pass dequantizes."""
    return blocks.block_n if blocks.decoded == "a" else blocks.block_m
