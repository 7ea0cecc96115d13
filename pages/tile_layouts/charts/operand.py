"""One operand of a picture: the corner of its stored tensor, and the scales of both levels."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fp8core.formats import FORMATS, Format
from fp8core.operand_scales import Scales, fitted
from fp8core.philox import random_bits
from fp8core.quantize import prepared, quantize_part
from fp8core.recipes import Operand
from fp8core.tiles import WHOLE, TileGrid

BF16 = FORMATS["bf16"]
"""The format of an operand that is not quantized."""
NO_TILES = (WHOLE, WHOLE)


@dataclass(frozen=True, kw_only=True)
class DrawnOperand:
    """The corner of a stored tensor that is drawn.

    - given: float32[rows, columns], the tensor's numbers.
    - x: float32[rows, columns], the numbers that are rounded: after a saved copy and a rotation.
    - operand, scales: how it is quantized; None where it stays bf16, and `x` is in bf16.
    - seed: of the random bits under stochastic rounding.
    """

    given: NDArray[np.float32]
    x: NDArray[np.float32]
    operand: Operand | None
    scales: Scales | None
    seed: int = 0

    @classmethod
    def of(cls, given: NDArray[np.float32], operand: Operand | None, seed: int) -> "DrawnOperand":
        """The corner `given` of a tensor, quantized as an operand."""
        if operand is None:
            return cls(given=given, x=_in_bf16(given), operand=None, scales=None)
        x = prepared(given, operand)
        scales = fitted(x, operand, operand.grid(x.shape))
        return cls(given=given, x=x, operand=operand, scales=scales, seed=seed)

    @property
    def format(self) -> Format:
        """The format in which its numbers are multiplied."""
        return BF16 if self.operand is None else self.operand.spec.format

    @cached_property
    def grid(self) -> TileGrid:
        """Its tiles; one of the whole corner where there are no scales."""
        shape = self.x.shape
        return TileGrid.over(shape, NO_TILES) if self.operand is None else self.operand.grid(shape)

    @cached_property
    def outer_grid(self) -> TileGrid | None:
        """The tiles that share an outer scale; None where there is one level or none."""
        return self.operand and self.operand.outer_grid(self.x.shape)

    @cached_property
    def stored(self) -> NDArray[np.float64]:
        """float64[*grid.scale_shape]: the scales as stored, the inner ones of two levels; NaN without any."""
        if self.scales is None:
            return np.full(self.grid.scale_shape, np.nan)
        return self.scales.stored.astype(np.float64)

    @cached_property
    def exact(self) -> NDArray[np.float64]:
        """float64[*grid.scale_shape]: what a code is multiplied by; 1 in bf16."""
        return np.ones(self.grid.scale_shape) if self.scales is None else self.scales.exact

    @cached_property
    def _random(self) -> NDArray[np.uint8] | None:
        """uint8[rows, columns]: the random bits of each element, drawn in the matmul's dims."""
        if self.operand is None or not self.operand.spec.is_random:
            return None
        bits = random_bits(self.operand.stored(self.x.shape), self.seed)
        return bits.T if self.operand.k_is_rows else bits

    def codes(self, rows: slice, columns: slice) -> NDArray[np.unsignedinteger]:
        """The codes of a part. Those of all numbers would take longer than the rest of the picture."""
        if self.operand is None or self.scales is None:
            return BF16.encode(self.x[rows, columns])
        return quantize_part(self.x, self.operand, self.scales.effective, rows, columns, self._random)

    def decoded(self, rows: slice, columns: slice) -> NDArray[np.float64]:
        """float64: the numbers that the tensor core multiplies in a part, before any scale."""
        return self.format.decode(self.codes(rows, columns))


def _in_bf16(x: NDArray[np.float32]) -> NDArray[np.float32]:
    return x.astype(BF16.ml_dtype).astype(np.float32)
