"""The reference quantizer: the numpy truth that every kernel equals bit for bit.

The order of operations, in fp32 with IEEE rounding at each step:

    amax  = max |x| over the tile          scale = rule(amax)          (fp8core.scales)
    r     = fl32(1 / scale)                q     = fl32(x · r)
    code  = encode(clamp(q, ±Qmax))        NaN or inf in a tile: scale NaN, every code the positive NaN
    (0 in a format that has no NaN: times its scale it is NaN all the same)
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fp8core.checks import instance, reals
from fp8core.recipes import OperandSpec
from fp8core.tiles import TileGrid


@dataclass(frozen=True, kw_only=True)
class QuantizedTensor:
    """codes uint8[rows, columns] and scale float32[*grid.scale_shape]; value ≈ decode(codes) · scale."""

    codes: NDArray[np.uint8]
    scale: NDArray[np.float32]
    grid: TileGrid
    spec: OperandSpec

    def values(self) -> NDArray[np.float32]:
        """float32[rows, columns]: the numbers that the codes stand for, rounded once to fp32.

        A number is infinite where code · scale is beyond fp32. A code can round up to 2**128, the next power
        of two after the largest fp32 number. `exact_values` has that number.
        """
        with np.errstate(over="ignore"):
            return self.exact_values().astype(np.float32)

    def exact_values(self) -> NDArray[np.float64]:
        """float64[rows, columns]: code · scale with no rounding (4 + 24 significand bits fit)."""
        return self.spec.format.decode(self.codes) * self.grid.expand(self.scale).astype(np.float64)


def scaled(x: NDArray[np.float32], grid: TileGrid, scale: NDArray[np.float32]) -> NDArray[np.float32]:
    """float32[rows, columns]: x times its tile's fl32(1 / scale), which is then rounded to a code."""
    with np.errstate(invalid="ignore"):
        return x * grid.expand(np.float32(1) / scale)


def quantize(x: ArrayLike, grid: TileGrid, spec: OperandSpec) -> QuantizedTensor:
    """Quantize x: float32[rows, columns] over `grid` as `spec` says.

    float16 and bfloat16 input is exact in float32 and taken too. Raises ValueError for another type, for a
    shape other than the grid's, and for stochastic rounding, which needs noise.
    """
    instance("grid", grid, TileGrid)
    instance("spec", spec, OperandSpec)
    x = reals("x", x)
    if x.dtype not in (np.float32, np.float16) and x.dtype.name != "bfloat16":
        raise ValueError(f"quantize takes float32, float16 or bfloat16, got {x.dtype}")
    x = x.astype(np.float32)
    scale = spec.scale.scale(grid.amax(x), spec.format)
    broken = np.isnan(grid.expand(scale))
    codes = spec.format.encode(np.where(broken, np.float32(0), scaled(x, grid, scale)), spec.rounding)
    codes[broken] = spec.format.nan_code or 0
    return QuantizedTensor(codes=codes, scale=scale, grid=grid, spec=spec)
