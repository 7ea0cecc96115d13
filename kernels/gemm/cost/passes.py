"""Passes before a kernel: the launches that make of an operand what the kernel reads. Pure; no torch."""

from collections.abc import Iterator
from dataclasses import dataclass

from fp8core.formats import FORMATS
from fp8core.linear import Side
from kernels.gemm.blocks import Blocks, Body
from kernels.gemm.meaning import Arithmetic, Meaning
from kernels.operand_passes.decode_ptx import read_as

_VALUE_BYTES = FORMATS["bf16"].bytes


@dataclass(frozen=True, slots=True)
class Pass:
    """One launch: the bytes that it reads and writes, and the bits of the codes that it reads."""

    bytes: float
    bits: int


def passes(meaning: Meaning, blocks: Blocks, mnk: tuple[int, int, int]) -> tuple[Pass, ...]:
    """The passes over both operands that blocks ask for. Passes that all blocks have alike are left out."""
    if meaning.arithmetic is not Arithmetic.DEQUANTIZED:
        return ()
    m, n, k = mnk
    return tuple(
        found for side, mn in ((Side.A, m), (Side.B, n)) for found in _of(meaning, blocks, side, mn, k)
    )


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
        if operand.tile.mn != 1 and operand.tile.k:
            yield Pass(2 * size / operand.tile.k, 8)
