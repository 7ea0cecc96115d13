"""Error of one tensor under many scales, and its parts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fp8core.arrays import Float64
from fp8core.checks import reals
from fp8core.errors import energy_of
from fp8core.formats import Format


@dataclass(frozen=True, kw_only=True)
class ScaleSweep:
    """Errors under each scale; arrays have the shape of `scale`.

    Three parts of the squared error ‖e‖² / ‖x‖² (fp8core.errors), and the shares of elements that saturate,
    and that become zero.
    """

    scale: Float64
    saturation: Float64
    deadzone: Float64
    grid: Float64
    saturated_share: Float64
    dead_share: Float64

    @property
    def total(self) -> Float64:
        return self.saturation + self.deadzone + self.grid

    @property
    def sqnr_db(self) -> Float64:
        """-10 log10 of the squared relative error; inf without any."""
        with np.errstate(divide="ignore"):
            return -10.0 * np.log10(self.total)

    @property
    def best(self) -> int:
        """Index of the least error, the first of equals."""
        return int(np.argmin(self.total))

    def near_best(self, within_db: float) -> tuple[int, int]:
        """First and last index around the best with SQNR within `within_db` of it."""
        inside = self.sqnr_db >= self.sqnr_db[self.best] - within_db
        first = last = self.best
        while first > 0 and inside[first - 1]:
            first -= 1
        while last < inside.size - 1 and inside[last + 1]:
            last += 1
        return first, last


def sweep_scale(x: ArrayLike, format_: Format, scales: ArrayLike) -> ScaleSweep:
    """Error of x / scale rounded to the format, times scale, for each of `scales`, in float64.

    Rounding is to nearest even and saturates. Raises ValueError for all-zero x, NaN or infinity in x, a scale
    that is not above 0, and a format without a sign.
    """
    x = reals("x", x).astype(np.float64).ravel()
    scales = np.atleast_1d(reals("scales", scales).astype(np.float64))
    if not (scales > 0).all():
        raise ValueError(f"a scale is above 0, got {scales.min()}")
    if not format_.signed:
        raise ValueError(f"a sweep needs a format with a sign, got {format_.name}")
    energy = energy_of(x**2)
    # Each side has an end of its own: MXINT8 goes down to -2, up to 127/64.
    if format_.min == -format_.max:
        sides = [_Side(np.abs(x), format_, 1.0)]
    else:
        sides = [_Side(x, format_, 1.0), _Side(-x, format_, -1.0)]
    sums = np.array([np.sum([side.parts(scale) for side in sides], axis=0) for scale in scales])
    saturation, deadzone, grid, saturated, dead = sums.T
    return ScaleSweep(
        scale=scales,
        saturation=saturation / energy,
        deadzone=deadzone / energy,
        grid=grid / energy,
        saturated_share=saturated / x.size,
        dead_share=dead / x.size,
    )


class _Side:
    """Numbers of one sign, by size: zeros first, saturated ones last."""

    def __init__(self, x: Float64, format_: Format, sign: float) -> None:
        self._sizes = np.sort(x[x > 0])
        self._energy_up_to = np.concatenate([[0.0], np.cumsum(self._sizes**2)])
        self._format, self._sign = format_, sign
        self._largest = format_.max if sign > 0 else -format_.min

    def parts(self, scale: float) -> tuple[float, float, float, int, int]:
        """Squared errors of saturation, zeros and rounding; then numbers of saturated and zero ones."""
        sizes, format_ = self._sizes, self._format
        # What surely becomes zero, and what is surely beyond the largest value, need not be rounded.
        surely_zero = scale * format_.min_subnormal * 0.49
        surely_beyond = scale * (self._largest + format_.gap_beyond)
        first, last = np.searchsorted(sizes, [surely_zero, surely_beyond])
        quotients = sizes[first:last] / scale
        # Rounding keeps the order: zeros come first, then the numbers within the range.
        steps = self._sign * format_.rounded(self._sign * quotients)
        zeros = int(np.searchsorted(steps, 0.0, side="right"))
        within = quotients.size - int(np.count_nonzero(format_.rounds_beyond(self._sign * quotients[zeros:])))
        steps *= scale
        steps -= sizes[first:last]
        between, over = steps[zeros:within], steps[within:]
        beyond = sizes[last:] - self._largest * scale
        return (
            float(over @ over + beyond @ beyond),
            float(self._energy_up_to[first + zeros]),
            float(between @ between),
            sizes.size - first - within,
            int(first) + zeros,
        )
