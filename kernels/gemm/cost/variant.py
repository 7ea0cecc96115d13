"""Variants of kernels: those whose step along K takes one time, whatever the shape. Pure; no torch."""

from dataclasses import dataclass, fields
from math import log2

from fp8core.tiles import WHOLE
from kernels.gemm.blocks import Blocks, Body
from kernels.gemm.meaning import Arithmetic, Meaning, ScaleAt
from kernels.operand_passes.decode_ptx import read_as

_FAR = 100.0


@dataclass(frozen=True, slots=True)
class Variant:
    """One body, what it multiplies, and one size of block.

    - multiplied: the format in which operands reach the tensor core, "fp8" or "bf16".
    - sums: "chained" for one sum in the tensor core, "promoted" for one in registers, "scaled" where scales
      of lines and squares come in the K loop, "scaled_lines" where those of lines on both sides do.
    - out: format of D. decoded: bits of the codes that the K loop decodes, 0 where it decodes none.
    - block_m to persistent: as in Blocks. The order of blocks and the runs of K are not among them.
    """

    body: str
    multiplied: str
    sums: str
    out: str
    decoded: int
    block_m: int
    block_n: int
    block_k: int
    warps: int
    stages: int
    transposed: bool
    persistent: bool

    @classmethod
    def of(cls, meaning: Meaning, blocks: Blocks) -> "Variant":
        fp8 = meaning.arithmetic is not Arithmetic.DEQUANTIZED
        b = meaning.spec.b
        sums = "chained" if meaning.promotion is WHOLE else "promoted"
        if meaning.scale_at is ScaleAt.K_LOOP:
            sums = "scaled_lines" if b is not None and b.tile.mn == 1 else "scaled"
        operand = meaning.spec.a if "a" in blocks.decoded else b
        bits = read_as(operand).format.packed_bits if blocks.decoded and operand is not None else 0
        decoding = blocks.body is Body.DECODING
        high, wide = blocks.block_m, blocks.block_n
        if decoding and blocks.decoded == "a":  # D or its transpose: the tensor core sees one shape
            high, wide = wide, high
        return cls(
            body=blocks.body.value,
            multiplied="fp8" if fp8 else "bf16",
            sums=sums,
            out=meaning.spec.out.name,
            decoded=bits,
            block_m=high,
            block_n=wide,
            block_k=blocks.block_k,
            warps=blocks.warps,
            stages=blocks.stages,
            transposed=blocks.transposed,
            persistent=blocks.persistent and blocks.body.is_simple,
        )

    @property
    def products(self) -> int:
        """Products of one step."""
        return self.block_m * self.block_n * self.block_k

    def distance(self, other: "Variant") -> float:
        """How unlike two variants are: what they compute counts most, then the body, then the sizes."""
        found = 0.0
        for name, weight in _WEIGHTS.items():
            mine, its = getattr(self, name), getattr(other, name)
            if isinstance(weight, tuple):
                found += weight[0] * abs(log2(mine / its))
            else:
                found += weight * (mine != its)
        return found


_WEIGHTS: dict[str, float | tuple[float]] = {
    "multiplied": _FAR,
    "body": 20.0,
    "sums": 6.0,
    "decoded": 5.0,
    "transposed": 4.0,
    "persistent": 1.0,
    "out": 1.0,
    "warps": 2.0,
    "block_m": (3.0,),
    "block_n": (3.0,),
    "block_k": (1.5,),
    "stages": (1.0,),
}
"""What a difference counts: once, or for each doubling where it stands in a tuple. A judgment."""

assert set(_WEIGHTS) == {field.name for field in fields(Variant)}, "every field of a variant has a weight"
