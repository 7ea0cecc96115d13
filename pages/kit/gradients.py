"""Gradients rounded without a scale: one tensor for all pages, so that shares agree."""

import numpy as np
from numpy.typing import NDArray

from fp8core.inputs import INPUT_NOTES, InputKind, draw

_KIND = InputKind.GRADIENT_LIKE
_SHAPE, _SEED = (128, 128), 0


def gradients() -> NDArray[np.float64]:
    """float64[n]: all gradients but zeros."""
    x = draw(_KIND, _SHAPE, _SEED).astype(np.float64).ravel()
    return x[x != 0]


def gradients_words() -> str:
    rows, columns = _SHAPE
    return f"{rows * columns:,} seeded gradients (seed {_SEED}): {INPUT_NOTES[_KIND].rule}."
