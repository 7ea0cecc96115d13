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
from fp8core.recipes import Operand, OperandSpec
from fp8core.tiles import TileGrid


@dataclass(frozen=True, kw_only=True)
class QuantizedTensor:
    """codes uint8[rows, columns] and scale float32[*grid.scale_shape]; value ≈ decode(codes) · scale."""

    operand: Operand
    codes: NDArray[np.uint8]
    scale: NDArray[np.float32]

    @property
    def spec(self) -> OperandSpec:
        return self.operand.spec

    @property
    def grid(self) -> TileGrid:
        """The tiles over the codes."""
        return self.operand.grid(self.codes.shape)

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


def quantize(x: ArrayLike, grid: TileGrid | Operand, spec: OperandSpec | None = None) -> QuantizedTensor:
    """Quantize x: float32[rows, columns] over `grid` as `spec` says, or as an operand does, which has both.

    float16 and bfloat16 input is exact in float32 and taken too. Raises ValueError for another type, for a
    shape other than the grid's, for tiles that cross the edge of an outer one, and for stochastic rounding,
    which needs noise.
    """
    x = reals("x", x, ndim=2)
    operand = operand_of(grid, spec)
    grid, spec = operand.grid(x.shape) if isinstance(grid, Operand) else grid, operand.spec
    if x.dtype not in (np.float32, np.float16) and x.dtype.name != "bfloat16":
        raise ValueError(f"quantize takes float32, float16 or bfloat16, got {x.dtype}")
    x = x.astype(np.float32)
    scale = spec.scale_rule.scale(grid.amax(x), spec.format, _outer_amax(x, operand))
    broken = np.isnan(grid.expand(scale))
    codes = spec.format.encode(np.where(broken, np.float32(0), scaled(x, grid, scale)), spec.rounding)
    codes[broken] = spec.format.nan_code or 0
    return QuantizedTensor(operand=operand, codes=codes, scale=scale)


def operand_of(grid: TileGrid | Operand, spec: OperandSpec | None) -> Operand:
    """The operand that is given, or that has the tiles of a grid and is quantized as `spec` says."""
    if isinstance(grid, Operand):
        if spec is not None:
            raise ValueError("an operand has a spec of its own, got another beside it")
        return grid
    return Operand.over(instance("grid", grid, TileGrid, Operand), instance("spec", spec, OperandSpec))


def _outer_amax(x: NDArray[np.float32], operand: Operand) -> NDArray[np.float32] | None:
    """float32[*grid.scale_shape]: amax of the outer tile around each tile; None for a rule of one level.

    Raises ValueError where a tile crosses the edge of an outer one.
    """
    grid, around = operand.grid(x.shape), operand.outer_grid(x.shape)
    if around is None:
        return None
    amax = around.amax(x)
    for axis, (large, small) in enumerate(zip(around.extents, grid.extents, strict=True)):
        if large % small and around.scale_shape[axis] > 1:
            raise ValueError(f"tiles of {grid.tile} do not nest in outer tiles of {around.tile}")
        amax = np.repeat(amax, -(-large // small), axis=axis)
    return amax[: grid.scale_shape[0], : grid.scale_shape[1]]
