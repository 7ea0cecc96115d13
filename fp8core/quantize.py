"""The reference quantizer: the numpy truth that every kernel equals bit for bit.

The order of operations, in fp32 with IEEE rounding at each step:

    amax  = max |x| over the tile          scale = rule(amax)          (fp8core.scales)
    r     = fl32(1 / scale)                q     = fl32(x · r)
    code  = encode(clamp(q, ±Qmax))        NaN or inf in a tile: scale NaN, every code the positive NaN
    (0 in a format that has no NaN: times its scale it is NaN all the same)

Under a rule of two levels a scale may be 0, and r is at most FLT_MAX.
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
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return x * grid.expand(np.minimum(np.float32(1) / scale, np.finfo(np.float32).max))


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
    scale = spec.scale_rule.scale(grid.amax(x), spec.format, _outer_amax(x, grid, spec))
    broken = np.isnan(grid.expand(scale))
    codes = spec.format.encode(np.where(broken, np.float32(0), scaled(x, grid, scale)), spec.rounding)
    codes[broken] = spec.format.nan_code or 0
    return QuantizedTensor(codes=codes, scale=scale, grid=grid, spec=spec)


def _outer_amax(x: NDArray[np.float32], grid: TileGrid, spec: OperandSpec) -> NDArray[np.float32] | None:
    """float32[*grid.scale_shape]: amax of the outer tile around each tile; None for a rule of one level.

    Raises ValueError where a tile crosses the edge of an outer one.
    """
    outer = spec.scale_rule.outer
    if outer is None:
        return None
    k_is_rows = grid.tile == (spec.tile.k, spec.tile.mn) != (spec.tile.mn, spec.tile.k)
    tile = (outer.tile.k, outer.tile.mn) if k_is_rows else (outer.tile.mn, outer.tile.k)
    around = TileGrid.over(x.shape, tile)
    amax = around.amax(x)
    for axis, (large, small) in enumerate(zip(around.extents, grid.extents, strict=True)):
        if large % small and around.scale_shape[axis] > 1:
            raise ValueError(f"tiles of {grid.tile} do not nest in outer tiles of {tile}")
        amax = np.repeat(amax, -(-large // small), axis=axis)
    return amax[: grid.scale_shape[0], : grid.scale_shape[1]]
