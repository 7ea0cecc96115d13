"""One tensor quantized as an operand of a matmul, and the numbers that the matmul reads."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fp8core.arrays import Bools, Float32, Float64, Floats
from fp8core.formats import FORMATS
from fp8core.quantize import RANDOM_BITS, prepared, quantize, quantized_values, random_of
from fp8core.recipes import Operand
from fp8core.rotations import Rotation
from fp8core.tiles import TileGrid

_BF16 = FORMATS["bf16"]


def as_bf16(x: Floats) -> Float32:
    return _BF16.rounded(x).astype(np.float32)


@dataclass(frozen=True, kw_only=True)
class ReadBack:
    """A tensor and the numbers read instead, both rotated if the operand is.

    float64[rows, columns]: `given`, the tensor; `made_of`, the quantized numbers; `values`, of the codes;
    `noise`, of stochastic rounding, if any. `scale` float32[*grid.scale_shape]: factor of the codes.
    """

    operand: Operand
    given: Float64
    made_of: Float64
    values: Float64
    scale: Float32
    noise: Float64 | None = None

    @property
    def grid(self) -> TileGrid:
        return self.operand.grid(self.given.shape)

    @property
    def is_direct(self) -> bool:
        return self.made_of is self.given

    @cached_property
    def error(self) -> Float64:
        return self.values - self.given

    @cached_property
    def squared(self) -> Float64:
        return self.error**2

    @cached_property
    def energy(self) -> Float64:
        return self.given**2

    @cached_property
    def dead(self) -> Bools:
        """Nonzero elements that become zero."""
        return (self.values == 0) & (self.made_of != 0)

    def in_place(self, x: Float64) -> Float64:
        """Rotate results back to the tensor's own elements."""
        return _turned(x, self.operand, back=True)


def read_back(x: Float32, operand: Operand, seed: int = 0) -> ReadBack:
    """Quantize x: float32[rows, columns] as an operand, and read the numbers back.

    `seed` draws the bits of stochastic rounding. A delayed scale is a first step's. Raises ValueError as
    `quantize`.
    """
    spec = operand.spec
    bits, noise = random_of(operand, x.shape, seed), None
    if bits is None:
        values, scale = quantized_values(x, operand)
    else:
        tensor, noise = quantize(x, operand, random=bits), bits / float(1 << RANDOM_BITS)
        values, scale = tensor.exact_values(), tensor.scales.effective
    given = _turned(x.astype(np.float64), operand)
    is_x = spec.rotation is None and spec.saved_as is None
    made_of = given if is_x else prepared(x, operand).astype(np.float64)
    return ReadBack(operand=operand, given=given, made_of=made_of, values=values, scale=scale, noise=noise)


def _turned(x: Float64, operand: Operand, back: bool = False) -> Float64:
    """Rotate x's runs along K, or rotate them back; a last short run stays."""
    rotation: Rotation | None = operand.spec.rotation
    if rotation is None:
        return x
    along = x.T if operand.k_is_rows else x
    whole = along.shape[1] // rotation.size * rotation.size
    turn = rotation.undo if back else rotation.apply
    result = np.concatenate([turn(along[:, :whole]), along[:, whole:]], axis=1)
    return result.T if operand.k_is_rows else result
