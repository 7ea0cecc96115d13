"""The reference quantizer: the numpy truth that every kernel equals bit for bit.

The order of operations, in fp32 with IEEE rounding at each step:

    x     = the tensor, or the values of a saved copy of it; then rotated
    amax  = max |x| over the tile          scale = rule(amax)                (fp8core.scales, operand_scales)
    s     = scale, or fl32(scale · outer scale) under a rule of two levels
    r     = min(fl32(1 / s), FLT_MAX)      q     = fl32(x · r)
    code  = encode(clamp(q, the format's range))

A NaN or an infinity in a tile: its scale is NaN, and every code the positive NaN (0 in a format without NaN).
Under a delayed scale, a NaN becomes the NaN code by itself, and an infinity saturates.

Stochastic rounding takes 8 random bits R for each element and rounds up where floor(fraction · 256) + R is
256 or more (PTX cvt.rs; Transformer Engine, common/util/ptx.cuh).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fp8core.arrays import Float32, Float64, UInt8
from fp8core.checks import instance, reals
from fp8core.formats import FORMATS, Format
from fp8core.operand_scales import Scales, fitted, inside, nearest, scaled
from fp8core.philox import random_bits
from fp8core.recipes import Operand, OperandSpec
from fp8core.rotations import Rotation, hadamard
from fp8core.rounding import Rounding
from fp8core.tiles import TileGrid

ROTATED = FORMATS["bf16"]
"""Format of rotated numbers in memory: Transformer Engine's kernel writes bf16."""
RANDOM_BITS = 8


@dataclass(frozen=True, kw_only=True)
class QuantizedTensor:
    """codes uint8[rows, columns] and scales; value ≈ decode(codes) · scale · outer_scale.

    scale: float32[*grid.scale_shape], as stored. outer_scale: float32, one for each outer tile, None for one
    level. Values are those of the rotated tensor if the operand is rotated.
    """

    operand: Operand
    codes: UInt8
    scale: Float32
    outer_scale: Float32 | None = None

    @property
    def spec(self) -> OperandSpec:
        return self.operand.spec

    @property
    def grid(self) -> TileGrid:
        return self.operand.grid(self.codes.shape)

    @property
    def scales(self) -> Scales:
        around = self.operand.outer_grid(self.codes.shape)
        if around is None or self.outer_scale is None:
            return Scales(stored=self.scale)
        return Scales(
            stored=self.scale,
            outer=self.outer_scale,
            outer_inside=inside(around, self.grid, self.outer_scale),
        )

    def scale_codes(self) -> UInt8:
        """uint8[*grid.scale_shape]: scales as bytes. Raises ValueError for wider ones."""
        stored = self.spec.scale_rule.format
        if stored.bits > 8:
            raise ValueError(f"a scale in one byte has a format of 8 bits, got {stored.name}")
        return stored.encode(self.scale).astype(np.uint8)

    def values(self) -> Float32:
        """float32[rows, columns]: the codes' numbers, rounded once.

        A code can round up to 2**128, infinite in fp32; `exact_values` has that number.
        """
        with np.errstate(over="ignore"):
            return self.exact_values().astype(np.float32)

    def exact_values(self) -> Float64:
        """float64[rows, columns]: code · scale · outer scale, exact (at most 32 significand bits)."""
        return self.spec.format.decode(self.codes) * self.grid.expand(self.scales.exact)


def quantize(
    x: ArrayLike,
    grid: TileGrid | Operand,
    spec: OperandSpec | None = None,
    *,
    random: UInt8 | None = None,
    history: ArrayLike | None = None,
) -> QuantizedTensor:
    """Quantize x: float32[rows, columns] over `grid` as `spec` says, or as an operand, which has both.

    random: uint8[rows, columns], bits of stochastic rounding (fp8core.philox). history: float32[steps], amax
    of earlier steps, oldest first, for a delayed scale; without it, or all zero, the tensor's own counts.

    float16 and bfloat16 are exact in float32 and accepted. Raises ValueError for another type, another shape
    than the grid's, tiles that cross an outer tile's edge, stochastic rounding without bits, and unused bits
    or history.
    """
    x, operand, grid = _checked(x, grid, spec)
    x = prepared(x, operand)
    scales_here = fitted(x, operand, grid, history)
    codes = _codes(x, grid, scales_here.effective, operand.spec, random)
    return QuantizedTensor(
        operand=operand, codes=codes, scale=scales_here.stored, outer_scale=scales_here.outer
    )


def random_of(operand: Operand, shape: tuple[int, int], seed: int) -> UInt8 | None:
    """uint8[rows, columns]: bits of stochastic rounding as `quantize` takes them; None to nearest."""
    if not operand.spec.is_random:
        return None
    bits = random_bits(operand.stored(shape), seed)
    return np.ascontiguousarray(bits.T) if operand.k_is_rows else bits


def prepared(x: ArrayLike, operand: Operand) -> Float32:
    """float32[rows, columns]: numbers to round, after a saved copy and a rotation."""
    x, operand, _ = _checked(x, operand, None)
    if operand.saved is not None:
        x = quantize(x, operand.saved).values()
    if operand.spec.rotation is not None:
        x = _rotated(x, operand.spec.rotation, operand.k_is_rows)
    return x


def _rotated(x: Float32, rotation: Rotation, k_is_rows: bool) -> Float32:
    """float32[rows, columns]: each run of K times the Hadamard matrix, in fp32, then rounded to bf16.

    Signs come first, then butterflies from neighbors outward, then 1/sqrt(size), each rounded to fp32. A
    shorter last run of K is only rounded to bf16, in both operands, so the product holds.
    """
    operand = np.ascontiguousarray(x.T) if k_is_rows else x
    whole = operand.shape[1] // rotation.size * rotation.size
    with np.errstate(invalid="ignore", over="ignore"):
        runs = hadamard(operand[:, :whole], rotation.size, rotation.signs)
        result = np.concatenate([runs, operand[:, whole:]], axis=1)
        result = result.astype(ROTATED.ml_dtype).astype(np.float32)
    return result.T if k_is_rows else result


def quantize_part(
    x: ArrayLike, operand: Operand, scale: Float32, rows: slice, columns: slice, random: UInt8 | None = None
) -> UInt8:
    """Codes that `quantize` gives in these rows and columns.

    `x`: as from `prepared`. `scale`: its effective `scales`. `random`: its random bits.
    """
    x, operand, grid = _checked(x, operand, None)
    ends = zip((rows, columns), x.shape, grid.extents, strict=True)
    of_elements = scale[np.ix_(*(np.arange(size)[part] // extent for part, size, extent in ends))]
    part = TileGrid(of_elements.shape, (1, 1))
    bits = None if random is None else random[rows, columns]
    return _codes(x[rows, columns], part, of_elements, operand.spec, bits)


def _codes(x: Float32, grid: TileGrid, scale: Float32, spec: OperandSpec, random: UInt8 | None) -> UInt8:
    quotients, noise = scaled(x, grid, scale), _noise(x.shape, spec, random)
    is_nan = np.isnan(quotients) | grid.expand(np.isnan(scale).astype(np.float32)).astype(bool)
    if not is_nan.any():
        return spec.format.encode(quotients, spec.rounding, noise=noise)
    codes = spec.format.encode(np.where(is_nan, np.float32(0), quotients), spec.rounding, noise=noise)
    codes[is_nan] = spec.format.nan_code or 0
    return codes


def _noise(shape: tuple[int, int], spec: OperandSpec, random: UInt8 | None) -> Float64 | None:
    """float64[rows, columns] in [0, 1): R / 256.

    R is whole: a fraction plus R / 256 reaches 1 where floor(fraction · 256) + R reaches 256.
    """
    if not spec.is_random:
        if random is not None:
            raise ValueError(f"random bits are for stochastic rounding, got some for {spec.rounding.value}")
        return None
    if random is None:
        raise ValueError("stochastic rounding needs random bits, uint8 in the shape of x, got none")
    if getattr(random, "dtype", None) != np.uint8 or random.shape != shape:
        words = f"{random.dtype}{list(random.shape)}" if isinstance(random, np.ndarray) else repr(random)
        raise ValueError(f"random bits are uint8{list(shape)}, got {words:.80}")
    return random / float(1 << RANDOM_BITS)


def quantized_values(
    x: ArrayLike, grid: TileGrid | Operand, spec: OperandSpec | None = None
) -> tuple[Float64, Float32]:
    """float64[rows, columns], the values of `quantize`, and the effective scales.

    It makes no codes, which takes a fraction of the time. Raises ValueError for stochastic rounding, and as
    `quantize`.
    """
    x, operand, grid = _checked(x, grid, spec)
    spec = operand.spec
    if spec.is_random:
        raise ValueError(f"values without codes are rounded to nearest, got {spec.rounding.value}")
    x = prepared(x, operand)
    scales_here = fitted(x, operand, grid)
    values = nearest(scaled(x, grid, scales_here.effective), spec.format, spec.rounding)
    values *= grid.expand(scales_here.exact)
    return values, scales_here.effective


def values_under(scale: Float32, x: Float32, grid: TileGrid, element: Format) -> Float64:
    """float64[rows, columns]: x over its tile's scale, rounded to nearest even, times that scale."""
    values = nearest(scaled(x, grid, scale), element, Rounding.NEAREST_EVEN)
    values *= grid.expand(scale)
    return values


def _checked(
    x: ArrayLike, grid: TileGrid | Operand, spec: OperandSpec | None
) -> tuple[Float32, Operand, TileGrid]:
    x = reals("x", x, ndim=2)
    operand = operand_of(grid, spec)
    if x.dtype not in (np.float32, np.float16) and x.dtype.name != "bfloat16":
        raise ValueError(f"quantize takes float32, float16 or bfloat16, got {x.dtype}")
    grid = operand.grid(x.shape) if isinstance(grid, Operand) else grid
    return x.astype(np.float32, copy=False), operand, grid


def scales(x: ArrayLike, operand: Operand) -> Scales:
    """Scales of `quantize`. Raises ValueError as it does."""
    x, operand, grid = _checked(x, operand, None)
    return fitted(prepared(x, operand), operand, grid)


def operand_of(grid: TileGrid | Operand, spec: OperandSpec | None) -> Operand:
    if isinstance(grid, Operand):
        if spec is not None:
            raise ValueError("an operand has a spec of its own, got another beside it")
        return grid
    return Operand.over(instance("grid", grid, TileGrid, Operand), instance("spec", spec, OperandSpec))
