"""What the kernels know at compile time of a whole operand, its rotation and its saved copy.

Pure; no torch, no GPU. kernels.quantize.facts has what they know of formats and scale rules.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from fp8core.rotations import Rotation
from kernels.quantize.facts import FP32, ElementFacts, RuleFacts, fp32_bits


@dataclass(frozen=True, kw_only=True)
class SavedFacts:
    """A saved copy whose tiles fit a block: its format, its rule, and the part of a block that is a tile."""

    element: ElementFacts
    rule: RuleFacts
    part_mn: int
    part_k: int


@dataclass(frozen=True, kw_only=True)
class RotationFacts:
    """A Hadamard transform: its size, fl32(1 / sqrt(size)) as bits, the signs as bits set where they are -1.

    A word has the signs of 32 elements.
    """

    size: int
    factor_bits: int
    negative: tuple[int, ...]

    @property
    def stages(self) -> int:
        """Rounds of sums and differences."""
        return self.size.bit_length() - 1

    @property
    def words(self) -> int:
        return len(self.negative)


@dataclass(frozen=True, kw_only=True)
class OperandFacts:
    """All that a kernel knows of an operand: how its numbers are prepared, scaled and encoded, and its tiles.

    - nearest: the format with a rounding that is not random.
    - tile, outer: extents of a tile and of an outer tile, 0 for the whole dim. part: those of a block's part.
    - in_words: a word has codes of one tile, and if that is broken, they are 0.
    - padded: rows of codes end in zeros beyond K.
    - partials: numbers of which the largest is the whole tensor's amax.
    """

    element: ElementFacts
    nearest: ElementFacts
    rule: RuleFacts
    saved: SavedFacts | None
    rotation: RotationFacts | None
    tile_mn: int
    tile_k: int
    outer_mn: int
    outer_k: int
    part_mn: int
    part_k: int
    in_words: bool
    padded: bool
    partials: int


@cache
def rotation_facts(rotation: Rotation | None) -> RotationFacts | None:
    """The facts of a rotation; None for none."""
    if rotation is None:
        return None
    signs = np.asarray(rotation.signs) < 0
    words = -(-rotation.size // FP32.bits)
    bits = np.zeros(words * FP32.bits, bool)
    bits[: rotation.size] = signs
    packed = np.packbits(bits, bitorder="little").view(np.int32)
    factor = fp32_bits(1 / np.sqrt(rotation.size))
    return RotationFacts(size=rotation.size, factor_bits=factor, negative=tuple(map(int, packed)))
