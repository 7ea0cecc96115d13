"""A weight kept in a narrow format, w ← round(w - lr · g), step after step.

The weight is always a value of the format, and g depends on w alone. So the run is a walk from value to
value. At every value the two next values and their chances are known beforehand.
"""

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from fp8core.formats import Format
from fp8core.stochastic import Debias, chances, neighbors

TARGET = 0.25


class Pull(Enum):
    """The gradient that every step sees, in words."""

    DOWN = "g = 1: a steady pull down"
    UP = "g = −1: a steady pull up"
    TARGET = f"g = w − {TARGET:g}: toward {TARGET:g}"


def gradient(pull: Pull, w: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64, shape of w."""
    match pull:
        case Pull.DOWN:
            return np.ones_like(w)
        case Pull.UP:
            return -np.ones_like(w)
        case Pull.TARGET:
            return w - TARGET


@dataclass(frozen=True, kw_only=True)
class Freeze:
    """The point where round-to-nearest stops moving: the step, the weight, its update and the half
    gap there.
    """

    step: int
    w: float
    update: float
    half_gap: float


@dataclass(frozen=True, kw_only=True)
class Walk:
    """w before each step and after the last: without rounding, to nearest, and stochastic [runs, steps + 1].

    `freeze` is None where nearest moves to the end. `drift` is the mean of the first stochastic step.
    """

    exact: NDArray[np.float64]
    nearest: NDArray[np.float64]
    stochastic: NDArray[np.float64]
    freeze: Freeze | None
    drift: float


def walk(
    format_: Format,
    start: float,
    lr: float,
    pull: Pull,
    random: NDArray[np.integer],
    bits: int,
    debias: Debias = Debias.TRUNCATE,
) -> Walk:
    """`random` [steps, runs] in 0..2**bits is what each step of each run adds; `start` is rounded first."""
    values = np.unique(format_.values[np.isfinite(format_.values)])
    target = values - lr * gradient(pull, values)
    nearest = np.searchsorted(values, format_.decode(format_.encode(target)))
    around = neighbors(format_, target)
    low, high = np.searchsorted(values, around.low), np.searchsorted(values, around.high)
    up = chances(around.fraction, bits, debias)

    steps, runs = random.shape
    first = int(np.searchsorted(values, format_.decode(format_.encode(start))))
    path = np.empty(steps + 1, np.int64)
    paths = np.empty((steps + 1, runs), np.int64)
    path[0] = paths[0] = first
    for step in range(steps):
        path[step + 1] = nearest[path[step]]
        here = paths[step]
        paths[step + 1] = np.where(up[here] + random[step] >= 1 << bits, high[here], low[here])

    chance = np.ldexp(float(up[first]), -bits)
    mean = values[low[first]] + chance * (values[high[first]] - values[low[first]])
    return Walk(
        exact=_unrounded(float(values[first]), lr, pull, steps),
        nearest=values[path],
        stochastic=values[paths].T,
        freeze=_freeze(values, target, path),
        drift=float(mean - values[first]),
    )


def _unrounded(start: float, lr: float, pull: Pull, steps: int) -> NDArray[np.float64]:
    """float64[steps + 1]: the closed form of the recursion in real numbers."""
    step = np.arange(steps + 1, dtype=np.float64)
    match pull:
        case Pull.DOWN:
            return start - lr * step
        case Pull.UP:
            return start + lr * step
        case Pull.TARGET:
            return TARGET + (start - TARGET) * (1 - lr) ** step


def _freeze(
    values: NDArray[np.float64], target: NDArray[np.float64], path: NDArray[np.int64]
) -> Freeze | None:
    still = np.flatnonzero(path[1:] == path[:-1])
    if not still.size:
        return None
    at = int(path[still[0]])
    update = float(target[at] - values[at])
    beside = min(max(at + (1 if update > 0 else -1), 0), values.size - 1)
    return Freeze(
        step=int(still[0]),
        w=float(values[at]),
        update=update,
        half_gap=float(abs(values[beside] - values[at]) / 2),
    )
