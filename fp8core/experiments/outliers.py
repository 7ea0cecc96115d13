"""Vectors with a few outliers.

x = rest + magnitude · outliers. The rest has variance 1, or is zero; at the outliers, near ±1, it is 0. The
magnitude is in standard deviations of the rest.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from fp8core.arrays import Bools, Float32, Float64
from fp8core.checks import instance, whole
from fp8core.inputs.recorded import LAYERS, has_tensors, layer_of_seed, stretch
from fp8core.linear import LayerTensor

_TAIL_FREEDOM = 4
_TAIL_DEVIATION = math.sqrt(_TAIL_FREEDOM / (_TAIL_FREEDOM - 2))


class Rest(Enum):
    GAUSSIAN = "Gaussian"
    UNIFORM = "uniform"
    LAPLACE = "Laplace"
    HEAVY_TAIL = "Student's t, 4 degrees of freedom"
    ZERO = "zero: nothing but the outliers"
    REAL_X = "real: activations x"
    REAL_W = "real: weights w"
    REAL_DY = "real: gradients dy"


REAL_RESTS = {Rest.REAL_X: LayerTensor.X, Rest.REAL_W: LayerTensor.W, Rest.REAL_DY: LayerTensor.DY}
"""Rests from a recorded tensor, over its rms."""
_LAWS: dict[Rest, Callable[[np.random.Generator, tuple[int, int]], Float64]] = {
    Rest.GAUSSIAN: lambda rng, shape: rng.standard_normal(shape),
    Rest.UNIFORM: lambda rng, shape: rng.uniform(-math.sqrt(3), math.sqrt(3), shape),
    Rest.LAPLACE: lambda rng, shape: rng.laplace(scale=math.sqrt(0.5), size=shape),
    Rest.HEAVY_TAIL: lambda rng, shape: rng.standard_t(_TAIL_FREEDOM, shape) / _TAIL_DEVIATION,
    Rest.ZERO: lambda rng, shape: np.zeros(shape),
}
OFFERED_RESTS = tuple(rest for rest in Rest if rest not in REAL_RESTS or has_tensors())


@dataclass(frozen=True, kw_only=True)
class OutlierVectors:
    """`rest` and `outliers`, float64[n, size]; one of them is 0 everywhere."""

    rest: Float64
    outliers: Float64

    @property
    def is_outlier(self) -> Bools:
        return self.outliers != 0

    def at(self, magnitude: float) -> Float32:
        return (self.rest + magnitude * self.outliers).astype(np.float32)


def draw_outlier_vectors(
    rest: Rest,
    shape: tuple[int, int],
    outliers: int,
    seed: int,
    *,
    one_place: bool = False,
    octaves: float = 0.0,
) -> OutlierVectors:
    """Draw `shape` = (n, size) vectors with `outliers` outliers of random place and sign.

    `one_place` puts them in the same elements, as an outlier channel. `octaves` spreads their sizes around 1,
    so a mean does not depend on a magnitude's place between powers of two.

    Equal arguments give equal numbers. Raises ValueError for outliers that do not fit the size.
    """
    instance("rest", rest, Rest)
    n, size = shape
    whole("the number of outliers", outliers, 0, size)
    rng = np.random.default_rng(seed)
    order = rng.random((1 if one_place else n, size)).argsort(axis=1)
    signs = rng.choice((-1.0, 1.0), (n, outliers))
    spread = (np.arange(n) + 0.5) / max(n, 1) - 0.5
    signs *= np.exp2(octaves * rng.permutation(spread))[:, None]
    sizes = np.zeros(shape)
    np.put_along_axis(sizes, np.broadcast_to(order[:, :outliers], (n, outliers)), signs, axis=1)
    elements = _real(REAL_RESTS[rest], shape, seed) if rest in REAL_RESTS else _LAWS[rest](rng, shape)
    return OutlierVectors(rest=np.where(sizes == 0, elements, 0.0), outliers=sizes)


def _real(tensor: LayerTensor, shape: tuple[int, int], seed: int) -> Float64:
    x = stretch(*layer_of_seed(seed), tensor, shape[0] * shape[1], seed // len(LAYERS))
    x = x.astype(np.float64).reshape(shape)
    return x / np.sqrt(np.mean(x**2))
