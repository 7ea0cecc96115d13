"""The colors of an error map, equal in the pictures that numpy paints and in the scale beside them."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

STOPS = (
    *("#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c"),
    *("#28ae80", "#5ec962", "#addc30", "#fde725"),
)
"""From the smallest to the largest, evenly spaced; told apart by lightness alone as well."""
LEAST, MOST = 1e-3, 1.0
"""The errors at both ends of the scale, which is logarithmic."""


@lru_cache(maxsize=1)
def table() -> NDArray[np.uint8]:
    """uint8[256, 3]: red, green and blue of each level."""
    stops = np.array([[int(stop[at : at + 2], 16) for at in (1, 3, 5)] for stop in STOPS])
    at = np.linspace(0, len(STOPS) - 1, 256)
    return np.stack([np.interp(at, np.arange(len(STOPS)), part) for part in stops.T], axis=1).astype(np.uint8)


def share_of_error(errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """The place of errors on the scale, 0 to 1; what is smaller or larger is at its end."""
    logs = np.log10(np.clip(errors, LEAST, MOST))
    low, high = np.log10(LEAST), np.log10(MOST)
    return (logs - low) / (high - low)
