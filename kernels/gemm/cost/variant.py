"""Variants of kernels: those whose step along K takes one time, whatever the shape. Pure; no torch."""

from dataclasses import dataclass, fields
from math import log2

from kernels.gemm.blocks import Blocks, Body
from kernels.gemm.cost.facts import Facts

_FAR = 100.0


@dataclass(frozen=True, slots=True)
class Variant:
    """One body, what it multiplies, and one size of block.

    - multiplied: the format in which operands reach the tensor core, "fp8" or "bf16".
    - sums: "chained" for one sum in the tensor core, "promoted" for one in registers, "scaled" where scales
      of lines and squares come in the K loop, "scaled_lines" where those of lines on both sides do.
    - out: format of D. decoded: bits of the codes that the K loop decodes, 0 for none.
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
    def of(cls, facts: Facts, blocks: Blocks) -> "Variant":
        high, wide = blocks.block_m, blocks.block_n
        if blocks.body is Body.DECODING and blocks.decoded == "a":  # the tensor core sees the same shape
            high, wide = wide, high
        return cls(
            body=blocks.body.value,
            multiplied=facts.multiplied,
            sums=facts.sums,
            out=facts.out,
            decoded=_decoded_bits(facts, blocks),
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


def _decoded_bits(facts: Facts, blocks: Blocks) -> int:
    """Bits of the codes that the K loop decodes. Those of both operands count where a warpgroup of its own
    decodes one.
    """
    if not blocks.decoded:
        return 0
    a, b = facts.read_bits
    if blocks.body is Body.DECODING and blocks.decoded == "ab":
        return a + b
    return a if "a" in blocks.decoded else b


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
