"""Error of one tensor, quantized as one operand of a matmul: its size, its place and its parts.

Three splits of ‖e‖² / ‖x‖² with e = values - x:

- by element: saturation, deadzone and grid noise, which share no element (fp8core.errors)
- scale bias b = values - ideal, where ideal is rounded alike under its tile's unrounded scale amax / Qmax:
  ‖e‖² = ‖b‖² + ‖ideal - x‖² + 2<b, ideal - x>
- shrinkage: with alpha = <x, values> / <x, x>,
  ‖e‖² = (1 - alpha)² ‖x‖² + ‖values - alpha · x‖² with no cross term

An operand made of a saved copy, or of rotated numbers in bf16, has the parts of that tensor; the earlier loss
stands beside them, with its cross term.
"""

import math
from dataclasses import dataclass

import numpy as np

from fp8core.arrays import Bools, Float32, Float64
from fp8core.errors import ErrorParts, energy_of, sqnr_db
from fp8core.experiments.read_back import ReadBack
from fp8core.operand_scales import nearest
from fp8core.tiles import TileGrid


@dataclass(frozen=True, kw_only=True)
class Logged:
    """Figures under Transformer Engine's names (debug/features/log_fp8_tensor_stats.py).

    underflows, overflows: percentages of zero codes, and of |x| > Qmax · scale. `scale_inv`: factor of the
    codes, `scale` elsewhere here.
    """

    underflows: float
    overflows: float
    mse: float
    scale_inv_min: float
    scale_inv_max: float


@dataclass(frozen=True, kw_only=True)
class Cross:
    """‖a + b‖² in three parts: ‖a‖², ‖b‖² and 2<a, b>, as shares of ‖x‖²."""

    first: float
    second: float
    cross: float

    @property
    def total(self) -> float:
        return self.first + self.second + self.cross


@dataclass(frozen=True, kw_only=True)
class Lines:
    """Squared sums over each channel or token: of x (`energy`) and of e (`error`)."""

    energy: Float64
    error: Float64

    @property
    def rel_err(self) -> Float64:
        """‖e‖ / ‖x‖ of each line; 0 where both are zero."""
        of_zero = np.where(self.error > 0, np.inf, 0.0)
        return np.sqrt(np.divide(self.error, self.energy, out=of_zero, where=self.energy > 0))

    def outliers(self, factor: float) -> Bools:
        """Lines whose rms exceeds `factor` times the median nonzero one."""
        rms = np.sqrt(self.energy)
        return rms > factor * np.median(rms[rms > 0])


@dataclass(frozen=True, kw_only=True)
class OperandError:
    """Error of one operand, in shares of ‖x‖².

    `parts` split the quantization error. `before`: that error, then the earlier loss. `bias`: scale bias,
    then the error under the ideal scale. `alpha`: shrinkage.
    """

    total: float
    parts: ErrorParts
    before: Cross
    bias: Cross
    alpha: float
    logged: Logged
    channels: Lines
    tokens: Lines

    @property
    def sqnr_db(self) -> float:
        return sqnr_db(math.sqrt(self.total))

    @property
    def shrunk(self) -> float:
        """(1 - alpha)²: share of ‖x‖² by which x is too short."""
        return (1 - self.alpha) ** 2

    @property
    def beside(self) -> float:
        """‖values - alpha · x‖² / ‖x‖²: beyond repair by any factor."""
        return self.total - self.shrunk


def operand_error(read: ReadBack) -> OperandError:
    """Measure a read-back tensor. Raises ValueError for all-zero x, and for NaN or infinity."""
    energy = energy_of(read.energy)
    scale = np.where(read.scale == 0, np.float32(1), read.scale)
    return OperandError(
        total=float(read.squared.sum()) / energy,
        parts=_parts(read, scale, energy),
        before=_before(read, energy),
        bias=_scale_bias(read, energy),
        alpha=float(np.vdot(read.given, read.values)) / energy,
        logged=_logged(read, scale),
        **_lines(read),
    )


def total_error(read: ReadBack) -> float:
    return float(np.vdot(read.error, read.error) / np.vdot(read.given, read.given))


def _parts(read: ReadBack, scale: Float32, energy: float) -> ErrorParts:
    element = read.operand.spec.format
    squared = read.squared if read.is_direct else (read.values - read.made_of) ** 2
    rows, columns = np.nonzero(_beyond(read, scale))
    tall, wide = read.grid.extents
    quotients = read.made_of[rows, columns] / scale[rows // tall, columns // wide].astype(np.float64)
    full = element.rounds_beyond(quotients)
    parts = {"saturation": squared[rows, columns][full].sum(), "deadzone": squared[read.dead].sum()}
    rest = squared.sum() - sum(parts.values())
    return ErrorParts(
        **{name: float(part) / energy for name, part in parts.items()},
        grid=max(float(rest), 0.0) / energy,
        saturated=int(full.sum()),
        dead=int(np.count_nonzero(read.dead)),
    )


def _beyond(read: ReadBack, scale: Float32) -> Bools:
    """bool[rows, columns]: numbers beyond the last value of their side times their scale, in fp32."""
    element = read.operand.spec.format
    beyond = read.made_of > read.grid.expand(np.float32(element.max) * scale)
    beyond |= read.made_of < read.grid.expand(np.float32(element.min) * scale)
    return beyond


def _before(read: ReadBack, energy: float) -> Cross:
    if read.is_direct:
        return Cross(first=float(read.squared.sum()) / energy, second=0.0, cross=0.0)
    return _cross(read.values - read.made_of, read.made_of - read.given, energy)


def _cross(a: Float64, b: Float64, energy: float) -> Cross:
    sums = (np.vdot(a, a), np.vdot(b, b), 2 * np.vdot(a, b))
    return Cross(**dict(zip(("first", "second", "cross"), (float(s) / energy for s in sums), strict=True)))


def _scale_bias(read: ReadBack, energy: float) -> Cross:
    spec, grid = read.operand.spec, read.grid
    ideal = grid.amax(read.made_of) / (spec.scale_rule.target or spec.format.max)
    ideal = grid.expand(np.where(ideal == 0, 1.0, ideal))
    if read.noise is None:
        under_ideal = nearest(read.made_of / ideal, spec.format, spec.rounding) * ideal
    else:
        codes = spec.format.encode(read.made_of / ideal, spec.rounding, noise=read.noise)
        under_ideal = spec.format.decode(codes) * ideal
    return _cross(read.values - under_ideal, under_ideal - read.given, energy)


def _logged(read: ReadBack, scale: Float32) -> Logged:
    return Logged(
        underflows=100 * float(np.mean(read.values == 0)),
        overflows=100 * float(np.mean(_beyond(read, scale))),
        mse=float(np.mean(read.squared)),
        scale_inv_min=float(read.scale.min()),
        scale_inv_max=float(read.scale.max()),
    )


def _lines(read: ReadBack) -> dict[str, Lines]:
    x, error = read.energy, read.squared
    if read.operand.spec.rotation is not None:
        x, error = (read.in_place(part) ** 2 for part in (read.given, read.error))
    return {
        name: Lines(energy=x.sum(axis=axis), error=error.sum(axis=axis))
        for name, axis in (("channels", 0), ("tokens", 1))
    }


def tile_sums(x: Float64, grid: TileGrid) -> Float64:
    """float64[*grid.scale_shape]: sums over the tiles of a nonempty array."""
    (rows, columns), (tall, wide) = grid.shape, grid.extents
    if columns % wide:
        across = np.add.reduceat(x, np.arange(0, columns, wide), axis=1)
    else:  # a product with ones is the fastest sum of short rows
        across = (x.reshape(-1, wide) @ np.ones(wide)).reshape(rows, -1)
    if rows % tall:
        return np.add.reduceat(across, np.arange(0, rows, tall), axis=0)
    return across.reshape(-1, tall, across.shape[1]).sum(axis=1)
