"""Delayed scaling: the scale of a step comes from the amax of earlier steps, so a spike overflows.

Source: Transformer Engine, common/recipe/delayed_scaling.cu and pytorch/quantization.py
(_default_sf_compute): the cast uses the old scale; then the window's amax sets the next one.
"""

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fp8core.checks import instance, reals, whole
from fp8core.formats import FORMATS, Format

_MIN_SCALE = 1 / FORMATS["fp32"].max
"""The smallest scale: its inverse, which the cast multiplies by, is the largest fp32 number."""
_MAX_MARGIN = FORMATS["fp32"].e_max


class AmaxChoice(Enum):
    """The amax of the window that sets the next scale."""

    MAX = "the largest of the window"
    MOST_RECENT = "the most recent"


@dataclass(frozen=True, kw_only=True)
class DelayedRun:
    """The course of a series, per step.

    Each step has the scale that the cast used (value = code · scale) and the amax that this scale could hold.
    A flag says whether the step's own amax was beyond it.
    """

    scale: NDArray[np.float64]
    holds: NDArray[np.float64]
    overflows: NDArray[np.bool_]

    def headroom_bits(self, amax: ArrayLike) -> NDArray[np.float64]:
        """float64[steps]: log2(holds / amax), the octaves left empty at the top of the format's range.

        It is negative where amax overflowed, by the octaves too many, and inf for an amax of 0.
        """
        with np.errstate(divide="ignore"):
            return np.log2(self.holds) - np.log2(np.asarray(amax, np.float64))


def run_current(amax: ArrayLike, element: Format) -> DelayedRun:
    """Current (dynamic) scaling: every step's scale is its own amax / Qmax.

    That amax is read from the tensor before it is cast, so a finite amax never overflows. An amax of 0, inf
    or NaN keeps the scale. No scale is below 1 / FLT_MAX. Raises ValueError for a negative amax.
    """
    amax = _checked(amax)
    scale = np.ones(amax.size)
    for step, own in enumerate(amax):
        usable = np.isfinite(own) and own > 0
        scale[step] = max(own / element.max, _MIN_SCALE) if usable else scale[max(step - 1, 0)]
    fits = np.isfinite(amax) & (amax > 0) & (amax / element.max >= _MIN_SCALE)
    holds = np.where(fits, amax, scale * element.max)
    return DelayedRun(scale=scale, holds=holds, overflows=~(amax <= holds))


def run_delayed(
    amax: ArrayLike,
    element: Format,
    history: int,
    margin: int = 0,
    choice: AmaxChoice = AmaxChoice.MAX,
) -> DelayedRun:
    """The scale of every step of a series of amax >= 0, from a window of `history` earlier steps.

    The first step uses scale 1. Then next scale = amax* · 2**margin / Qmax. An amax* of 0, inf or NaN keeps
    the scale. Transformer Engine stores the inverse, Qmax / (amax* · 2**margin), in fp32. Where that is
    infinite it puts FLT_MAX, the largest fp32 number. So no scale here is below 1 / FLT_MAX.

    Raises ValueError for a history below 1, for a negative amax, and for a margin that is no whole number
    from -127 to 127.
    """
    if whole("a history", history) < 1:
        raise ValueError(f"a history holds at least 1 step, got {history}")
    whole("a margin", margin, -_MAX_MARGIN, _MAX_MARGIN)
    instance("choice", choice, AmaxChoice)
    amax = _checked(amax)
    scale = np.ones(amax.size)
    for step in range(1, amax.size):
        window = amax[max(0, step - history) : step]
        chosen = window.max() if choice is AmaxChoice.MAX else window[-1]
        usable = np.isfinite(chosen) and chosen > 0
        own = np.ldexp(chosen / element.max, margin)
        scale[step] = max(own, _MIN_SCALE) if usable else scale[step - 1]
    holds = scale * element.max
    return DelayedRun(scale=scale, holds=holds, overflows=~(amax <= holds))


def _checked(amax: ArrayLike) -> NDArray[np.float64]:
    """float64[steps]."""
    amax = reals("amax", amax, ndim=1).astype(np.float64)
    if (amax < 0).any():
        raise ValueError(f"an amax is at least 0, got {np.nanmin(amax)}")
    return amax
