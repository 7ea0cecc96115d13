"""Figures of a tensor's distribution that tell weights, activations and gradients apart."""

from dataclasses import dataclass

import numpy as np

from fp8core.arrays import Float64, Floats
from fp8core.experiments.error_curves import crest_factor

BIN = 0.5
"""Octaves of a bin."""
ENDS = (0.01, 0.99)
"""Quantiles of |x| for the spread of exponents."""
ROW_ENDS = (0.05, 0.95)
"""Quantiles of the rows' sizes."""


@dataclass(frozen=True, kw_only=True)
class TensorShape:
    """A distribution in figures; sizes are relative to the tensor's rms.

    crest: largest |x| over rms. kurtosis: 3 for a Gaussian, more for heavier tails. octaves: log2 of the 99th
    over the first percentile of nonzero |x|. zeros: share of zeros. rows, columns: rms of a large row or
    column over a small one. bins: lower edges of the histogram in octaves; shares: of the elements.
    """

    rms: float
    crest: float
    kurtosis: float
    octaves: float
    zeros: float
    rows: float
    columns: float
    bins: tuple[float, ...]
    shares: tuple[float, ...]


def tensor_shape(x: Floats) -> TensorShape:
    """Shape of x [rows, columns]. Raises ValueError if all of it is zero."""
    x = x.astype(np.float64)
    size = np.abs(x)
    nonzero = size[size > 0]
    if not nonzero.size:
        raise ValueError("a tensor of zeros has no shape")
    rms = float(np.sqrt(np.mean(x**2)))
    low, high = np.quantile(nonzero, ENDS)
    octave = np.floor(np.log2(nonzero / rms) / BIN).astype(int)
    counts = np.bincount(octave - octave.min())
    return TensorShape(
        rms=rms,
        crest=crest_factor(x),
        kurtosis=float(np.mean((x - x.mean()) ** 4) / np.var(x) ** 2),
        octaves=float(np.log2(high / low)),
        zeros=float(np.mean(size == 0)),
        rows=_ratio(x, axis=1),
        columns=_ratio(x, axis=0),
        bins=tuple(float(BIN * (octave.min() + place)) for place in range(counts.size)),
        shares=tuple((counts / x.size).tolist()),
    )


def _ratio(x: Float64, axis: int) -> float:
    """Size of a large row or column over a small one, without zeros."""
    sizes = np.sqrt(np.mean(x**2, axis=axis))
    low, high = np.quantile(sizes[sizes > 0], ROW_ENDS)
    return float(high / low)
