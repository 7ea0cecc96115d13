"""Delayed scaling: a step's scale comes from the amax of earlier steps, so a spike overflows.

Source: Transformer Engine, common/recipe/delayed_scaling.cu and pytorch/quantization.py
(_default_sf_compute): the cast uses the old scale; then the window's amax sets the next one.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fp8core.arrays import Bools, Float64
from fp8core.checks import reals, whole
from fp8core.formats import FORMATS, Format

_MIN_SCALE = 1 / FORMATS["fp32"].max
"""Smallest scale: its inverse, the cast's factor, is the largest fp32 number."""
_MAX_MARGIN = FORMATS["fp32"].e_max


@dataclass(frozen=True, kw_only=True)
class DelayedRun:
    """Per step: the cast's scale (value = code · scale), the amax that it holds, and an overflow flag."""

    scale: Float64
    holds: Float64
    overflows: Bools

    def headroom_bits(self, amax: ArrayLike) -> Float64:
        """float64[steps]: log2(holds / amax), the empty octaves at the top of the range.

        Negative after an overflow; inf for an amax of 0.
        """
        with np.errstate(divide="ignore"):
            return np.log2(self.holds) - np.log2(np.asarray(amax, np.float64))


def run_current(amax: ArrayLike, element: Format) -> DelayedRun:
    """Current scaling: each step's scale is its own amax / Qmax, so a finite amax never overflows.

    An amax of 0, inf or NaN keeps the scale, which is at least 1 / FLT_MAX. Raises ValueError for a negative
    amax.
    """
    amax = _checked(amax)
    scale = _scales(amax, element)
    fits = np.isfinite(amax) & (amax > 0) & (amax / element.max >= _MIN_SCALE)
    holds = np.where(fits, amax, scale * element.max)
    return DelayedRun(scale=scale, holds=holds, overflows=~(amax <= holds))


def run_delayed(amax: ArrayLike, element: Format, history: int, margin: int = 0) -> DelayedRun:
    """Scales of a series of amax >= 0, from a window of `history` earlier steps.

    The first scale is 1, the next amax* · 2**margin / Qmax; an amax* of 0, inf or NaN keeps the scale.
    Transformer Engine stores the inverse in fp32, at most FLT_MAX: no scale is below 1 / FLT_MAX.

    Raises ValueError for a history below 1, a negative amax, and a margin that is no whole number from -127
    to 127.
    """
    whole("a history", history, 1)
    whole("a margin", margin, -_MAX_MARGIN, _MAX_MARGIN)
    amax = _checked(amax)
    latest = [amax[max(0, step - history) : step].max(initial=0.0) for step in range(amax.size)]
    scale = _scales(latest, element, margin)
    holds = scale * element.max
    return DelayedRun(scale=scale, holds=holds, overflows=~(amax <= holds))


def _scales(amax: Iterable[float], element: Format, margin: int = 0) -> Float64:
    """float64[steps]: amax · 2**margin / Qmax of each step, or the scale before it; 1 at first."""
    scales = [1.0]
    for own in amax:
        usable = np.isfinite(own) and own > 0
        scales.append(max(np.ldexp(own / element.max, margin), _MIN_SCALE) if usable else scales[-1])
    return np.array(scales[1:])


def _checked(amax: ArrayLike) -> Float64:
    amax = reals("amax", amax, ndim=1).astype(np.float64)
    if (amax < 0).any():
        raise ValueError(f"an amax is at least 0, got {np.nanmin(amax)}")
    return amax
