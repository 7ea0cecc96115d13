"""Scales of an operand over a tensor: amax of each tile, the rule, an outer level, a search."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from fp8core.arrays import Float32, Float64
from fp8core.checks import reals
from fp8core.formats import Format
from fp8core.recipes import Operand
from fp8core.rounding import Rounding
from fp8core.scales import NO_SEARCH
from fp8core.tiles import TileGrid

_TOP = np.finfo(np.float32).max


@dataclass(frozen=True, kw_only=True)
class Scales:
    """Scales over a tensor, as stored.

    stored: float32[*grid.scale_shape], numbers of the rule's format, or NaN. outer:
    float32[*outer_grid.scale_shape], None for one level. outer_inside: float32[*grid.scale_shape], the outer
    scale around each tile, or None.
    """

    stored: Float32
    outer: Float32 | None = None
    outer_inside: Float32 | None = None

    @property
    def effective(self) -> Float32:
        """float32[*grid.scale_shape], fl32(stored · outer): the quantizer takes its reciprocal."""
        if self.outer_inside is None:
            return self.stored
        with np.errstate(over="ignore", invalid="ignore"):
            return self.stored * self.outer_inside

    @property
    def exact(self) -> Float64:
        """float64[*grid.scale_shape], stored · outer, exact: the factor of a code."""
        exact = self.stored.astype(np.float64)
        return exact if self.outer_inside is None else exact * self.outer_inside


def scaled(x: Float32, grid: TileGrid, scale: Float32) -> Float32:
    """float32[rows, columns]: x times its tile's min(fl32(1 / scale), FLT_MAX), before rounding."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return x * grid.expand(np.minimum(np.float32(1) / scale, _TOP))


def fitted(x: Float32, operand: Operand, grid: TileGrid, history: ArrayLike | None = None) -> Scales:
    """Scales of x, after saved copies and rotations.

    Raises ValueError for tiles that cross an outer tile's edge, and for a history that does not fit.
    """
    rule, element = operand.spec.scale_rule, operand.spec.format
    amax = grid.amax(x)
    if rule.history and history is not None:
        amax = np.full(amax.shape, _late_amax(history, rule.history, amax), np.float32)
    elif history is not None:
        raise ValueError("this rule takes the tensor's own amax, got a history")
    around, outer, outer_amax = operand.outer_grid(x.shape), None, None
    if around is not None:
        of_outer = around.amax(x) if rule.has_fitted_outer else np.zeros(around.scale_shape, np.float32)
        outer = rule.outer_scale(of_outer, element)
        outer_amax = inside(around, grid, of_outer) if rule.has_fitted_outer else None
    candidates = [
        Scales(
            stored=rule.scale(_times(amax, factor), element, outer_amax),
            outer=outer,
            outer_inside=None if around is None else inside(around, grid, outer),
        )
        for factor in rule.search
    ]
    if rule.search == NO_SEARCH:
        return candidates[0]
    return _best(candidates, x, operand, grid)


def inside(around: TileGrid, grid: TileGrid, outer: Float32) -> Float32:
    """float32[*grid.scale_shape]: number of the outer tile around each tile.

    Raises ValueError if a tile crosses an outer tile's edge.
    """
    for axis, (large, small) in enumerate(zip(around.extents, grid.extents, strict=True)):
        if large % small and around.scale_shape[axis] > 1:
            raise ValueError(f"tiles of {grid.tile} do not nest in outer tiles of {around.tile}")
        outer = np.repeat(outer, -(-large // small), axis=axis)
    return outer[: grid.scale_shape[0], : grid.scale_shape[1]]


def _late_amax(history: ArrayLike, steps: int, own: Float32) -> np.float32:
    """Largest amax of the last steps, or the tensor's own if all are 0."""
    earlier = reals("a history of amax", history, ndim=1).astype(np.float32)[-steps:]
    if not np.isfinite(earlier).all() or (earlier < 0).any():
        raise ValueError(f"a history holds finite amax of at least 0, got {earlier[:8].tolist()}")
    largest = earlier.max(initial=np.float32(0))
    return largest if largest > 0 else own.max(initial=np.float32(0))


def _times(amax: Float32, factor: float) -> Float32:
    """float32: amax times a factor, at most FLT_MAX if amax is finite."""
    if factor == 1:
        return amax
    with np.errstate(over="ignore"):
        product = amax * np.float32(factor)
    return np.where(np.isfinite(amax), np.minimum(product, _TOP), amax)


def _best(candidates: list[Scales], x: Float32, operand: Operand, grid: TileGrid) -> Scales:
    errors = np.stack([tile_errors(x, operand, grid, one.effective) for one in candidates])
    with np.errstate(invalid="ignore"):
        best = np.argmin(np.where(np.isnan(errors), np.inf, errors), axis=0)[None]
    stored = np.take_along_axis(np.stack([one.stored for one in candidates]), best, axis=0)[0]
    return replace(candidates[0], stored=stored)


def tile_errors(x: Float32, operand: Operand, grid: TileGrid, effective: Float32) -> Float32:
    """float32[*grid.scale_shape]: each tile's squared error under a scale, in fp32, in a fixed order.

    e = fl32(fl32(value · scale) - x), squared in fp32. A tile is [mn, k], padded with zeros to powers of two.
    Halves of each row are added until one number is left, then halves of these numbers, so a kernel makes the
    same choice. Random rounding counts as nearest even.

    fp32 does not hold every square: Gaussian numbers times 2**66 or more give infinite errors, times 2**-80
    or less give 0. Such a tile keeps the first scale of a search; nearly half of Four Over Six's tiles then
    have another scale than near 1.
    """
    spec = operand.spec
    with np.errstate(over="ignore", invalid="ignore"):
        value = nearest(scaled(x, grid, effective), spec.format, spec.rounding).astype(np.float32)
        error = value * grid.expand(effective) - x
        square = error * error
        (tall, wide), (down, across) = grid.extents, grid.scale_shape
        full = np.zeros((down * tall, across * wide), np.float32)
        full[: x.shape[0], : x.shape[1]] = square
        tiles = full.reshape(down, tall, across, wide)
        order = (0, 2, 3, 1) if operand.k_is_rows else (0, 2, 1, 3)
        return _halved(_halved(tiles.transpose(order)))


def _halved(numbers: Float32) -> Float32:
    size = 1 << (numbers.shape[-1] - 1).bit_length()
    numbers = np.pad(numbers, [(0, 0)] * (numbers.ndim - 1) + [(0, size - numbers.shape[-1])])
    while size > 1:
        size //= 2
        numbers = numbers[..., :size] + numbers[..., size:]
    return numbers[..., 0]


def nearest(q: Float32, element: Format, rounding: Rounding) -> Float64:
    """float64, shape of q: rounded values; random rounding counts as nearest even."""
    if rounding in (Rounding.NEAREST_EVEN, Rounding.STOCHASTIC):
        return element.rounded(q)
    nan = np.isnan(q)
    return np.where(nan, np.nan, element.decode(element.encode(np.where(nan, 0, q), rounding)))
