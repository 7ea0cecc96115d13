"""Passes before a kernel: the launches that make of an operand what the kernel reads. Pure; no torch."""

from collections.abc import Iterator
from dataclasses import dataclass

from fp8core.formats import FORMATS
from fp8core.linear import Side
from kernels.gemm.blocks import Blocks, Body
from kernels.gemm.hopper.sizes import SCALE_BYTES, TMA_BYTES
from kernels.gemm.meaning import Arithmetic, Meaning, ScaleAt
from kernels.operand_passes.decode_ptx import read_as

_VALUE_BYTES = FORMATS["bf16"].bytes


@dataclass(frozen=True, slots=True)
class Pass:
    """One launch: the bytes that it reads and writes, and the bits of the codes that it reads."""

    bytes: float
    bits: int


def passes(meaning: Meaning, blocks: Blocks, mnk: tuple[int, int, int]) -> tuple[Pass, ...]:
    """The passes over both operands that blocks ask for. Passes that all blocks have alike are left out."""
    m, n, k = mnk
    sides = ((Side.A, m), (Side.B, n))
    if meaning.scale_at is ScaleAt.K_LOOP and not blocks.body.is_simple:
        return tuple(found for side, mn in sides for found in _aligned(meaning, side, mn, k))
    if meaning.arithmetic is not Arithmetic.DEQUANTIZED:
        return ()
    return tuple(found for side, mn in sides for found in _of(meaning, blocks, side, mn, k))


def _aligned(meaning: Meaning, side: Side, mn: int, k: int) -> Iterator[Pass]:
    """The copy of an operand's scales where TMA cannot start at each of their rows."""
    tile = meaning.applied(side)
    if tile is not None and tile.mn == 1 and tile.k and mn * SCALE_BYTES % TMA_BYTES:
        yield Pass(2 * SCALE_BYTES * mn * k / tile.k, FORMATS["bf16"].bits)


def _of(meaning: Meaning, blocks: Blocks, side: Side, mn: int, k: int) -> Iterator[Pass]:
    operand, size = meaning.spec.operand(side), float(mn * k)
    if operand is None:
        if blocks.body is Body.DECODING:
            yield Pass(2 * _VALUE_BYTES * size, FORMATS["bf16"].bits)
        return
    bits = operand.format.packed_bits
    coded = bits / 8
    if not blocks.decodes(side):
        yield Pass((coded + _VALUE_BYTES) * size, bits)
        return
    if blocks.body is Body.DECODING:
        if read_as(operand) != operand:
            yield Pass((coded + 1) * size, bits)
        by_tma = blocks.decoded != "ab" or side is Side.B
        if by_tma and operand.tile.k and (operand.tile.mn != 1 or mn % TMA_BYTES):
            yield Pass(2 * size / operand.tile.k, 8)
