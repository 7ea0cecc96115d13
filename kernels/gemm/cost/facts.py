"""Facts of a meaning that every candidate's work asks for: looked up once a GEMM. Pure; no torch."""

from dataclasses import dataclass

from fp8core.linear import Side
from fp8core.tiles import WHOLE
from kernels.gemm.arithmetic import Arithmetic, ScaleAt
from kernels.gemm.blocks import Blocks
from kernels.gemm.meaning import Meaning
from kernels.operand_passes.decode_ptx import read_as


@dataclass(frozen=True, slots=True)
class Facts:
    """Sizes of A's and B's numbers, and the words by which variants are told apart (see Variant).

    - value_bytes: of a number as it reaches the tensor core. code_bits: of a code as it is stored, 16 where
      an operand stays bf16. read_bits: of a code as the K loop decodes it.
    """

    multiplied: str
    sums: str
    out: str
    out_bytes: int
    value_bytes: tuple[int, int]
    code_bits: tuple[int, int]
    read_bits: tuple[int, int]

    @classmethod
    def of(cls, meaning: Meaning) -> "Facts":
        values, operands = meaning.multiplied, [meaning.spec.operand(side) for side in Side]
        b = operands[1]
        sums = "chained" if meaning.promotion is WHOLE else "promoted"
        if meaning.scale_at is ScaleAt.K_LOOP:
            sums = "scaled_lines" if b is not None and b.tile.mn == 1 else "scaled"
        codes, read = [], []
        for operand, value in zip(operands, values, strict=True):
            codes.append(value.bits if operand is None else operand.format.packed_bits)
            read.append(0 if operand is None else read_as(operand).format.packed_bits)
        return cls(
            multiplied="bf16" if meaning.arithmetic is Arithmetic.DEQUANTIZED else "fp8",
            sums=sums,
            out=meaning.spec.out.name,
            out_bytes=meaning.spec.out.bytes,
            value_bytes=(values[0].bytes, values[1].bytes),
            code_bits=(codes[0], codes[1]),
            read_bits=(read[0], read[1]),
        )

    def bits(self, side: Side, blocks: Blocks) -> int:
        """Bits of a number of an operand as the kernel loads it: of its code where the K loop decodes it."""
        place = 0 if side is Side.A else 1
        return self.code_bits[place] if blocks.decodes(side) else 8 * self.value_bytes[place]
