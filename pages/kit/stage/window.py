"""Rows of numbers over a logarithmic axis: one is pulled, and their format's windows follow."""

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fp8core.formats import Format
from pages.kit.stage.stage import Stage, floats
from pages.kit.widgets import NumberStyle, Whole

WINDOW = Stage("window", Path(__file__).with_suffix(".js"))
# Steps of the handle in a power of two, and how far it goes.
PER_POWER = 4
LOW, HIGH = -3, 23
STEPS = np.arange(LOW * PER_POWER, HIGH * PER_POWER + 1)
HANDLE = {"low": LOW, "per": PER_POWER, "count": STEPS.size}
_SMALLEST = float(np.finfo(np.float32).smallest_subnormal)


def pull_of(key: str) -> Whole:
    return Whole(
        key=key,
        label=f"Pull it up, in steps of a {PER_POWER}th of a power of two",
        low=int(STEPS[0]),
        high=int(STEPS[-1]),
        default=0,
        style=NumberStyle.SLIDER,
    )


def frames(format_: Format, scale: NDArray[np.float64], *numbers: ArrayLike) -> str:
    """Encode F cases for `window.js`: float32[F, 4 · N + 3 · windows].

    `scale`: float64[F, windows]. `numbers`: is lost, code, sum and exact sum of each of N numbers.
    """
    edges = np.log2([format_.max, format_.min_normal, format_.min_subnormal / 2])
    powers = np.log2(np.maximum(scale, _SMALLEST))[..., None] + edges
    return floats(np.concatenate([np.reshape(part, (len(scale), -1)) for part in (*numbers, powers)], axis=1))


def span(format_: Format) -> float:
    """Powers of two from a format's smallest number to its largest."""
    return float(np.log2(format_.max / format_.min_subnormal))
