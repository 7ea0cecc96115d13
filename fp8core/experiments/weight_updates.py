"""A weight kept in a narrow format, w ← round(w - lr · g), step after step.

The weight is always a value of the format, and g depends on w alone. So the run is a walk from value to
value. At every value the two next values and their chances are known beforehand.
"""

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fp8core.formats import Format
from fp8core.stochastic import Debias, chances, nearest_of, neighbors

TARGET = 0.25
_MOVES_KEPT = 8
"""Tables of steps; that of a format of 16 bits has 2 MB."""


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
    """w before each step and after the last, float64[steps + 1]: without rounding, and to nearest.

    `places` intp[steps + 1, runs] are where the stochastic weights stand among `values`, where each value of
    the format comes twice. `freeze` is None where nearest moves to the end. `drift` is the mean of the first
    stochastic step.
    """

    exact: NDArray[np.float64]
    nearest: NDArray[np.float64]
    values: NDArray[np.float64]
    places: NDArray[np.intp]
    freeze: Freeze | None
    drift: float

    def stochastic(self, steps: NDArray[np.integer] | slice = slice(None)) -> NDArray[np.float64]:
        """float64[runs, steps]: the stochastic weights at some steps, or at all."""
        return self.values[self.places[steps].T]


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
    moves = _moves(format_, lr, pull)
    values = moves.values
    first = int(np.searchsorted(values, format_.decode(format_.encode(start))))
    up = chances(moves.fraction, bits, debias)
    path = _nearest_path(moves.nearest, first, random.shape[0])
    paths = _paths(moves, up, first, random, bits)
    chance = np.ldexp(float(up[first]), -bits)
    mean = values[moves.low[first]] + chance * (values[moves.high[first]] - values[moves.low[first]])
    return Walk(
        exact=_unrounded(float(values[first]), lr, pull, random.shape[0]),
        nearest=values[path],
        values=np.repeat(values, 2),
        places=paths,
        freeze=_freeze(moves, lr, pull, path),
        drift=float(mean - values[first]),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Moves:
    """A step from each of the format's values, as places among them: rounded to nearest, and the two values
    around the unrounded one, which is at `fraction` between them.
    """

    values: NDArray[np.float64]
    nearest: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    fraction: NDArray[np.float64]


@lru_cache(maxsize=_MOVES_KEPT)
def _moves(format_: Format, lr: float, pull: Pull) -> _Moves:
    values = _values(format_)
    target = values - lr * gradient(pull, values)
    around = neighbors(format_, target)
    nearest, low, high = (
        np.searchsorted(values, found).astype(np.int32)
        for found in (nearest_of(format_, target, around), around.low, around.high)
    )
    return _Moves(values=values, nearest=nearest, low=low, high=high, fraction=around.fraction)


@lru_cache(maxsize=_MOVES_KEPT)
def _values(format_: Format) -> NDArray[np.float64]:
    """The finite values of the format in order."""
    return np.unique(format_.values[np.isfinite(format_.values)])


def _nearest_path(nearest: NDArray[np.int32], first: int, steps: int) -> NDArray[np.intp]:
    """intp[steps + 1]: the places of a weight that is rounded to nearest."""
    path = np.full(steps + 1, first, np.intp)
    at = first
    for step in range(1, steps + 1):
        before, at = at, int(nearest[at])
        if at == before:  # from here on it stands still
            path[step:] = at
            break
        path[step] = at
    return path


def _paths(
    moves: _Moves, up: NDArray[np.int64], first: int, random: NDArray[np.integer], bits: int
) -> NDArray[np.intp]:
    """intp[steps + 1, runs]: twice the places of weights that are rounded stochastically.

    One more than twice a place stands for the way up from there, so that one table has both ways.
    """
    needed = np.repeat((1 << bits) - up, 2).astype(np.promote_types(random.dtype, np.int32))
    ways = 2 * np.stack([moves.low, moves.high], axis=1).ravel().astype(np.intp)
    steps, runs = random.shape
    paths = np.empty((steps + 1, runs), np.intp)
    paths[0] = 2 * first
    least, goes_up, way = np.empty(runs, needed.dtype), np.empty(runs, np.bool_), np.empty(runs, np.intp)
    for drawn, here, after in zip(random, paths[:-1], paths[1:], strict=True):
        needed.take(here, out=least, mode="clip")
        np.greater_equal(drawn, least, out=goes_up)
        np.add(here, goes_up, out=way)
        ways.take(way, out=after, mode="clip")
    return paths


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


def _freeze(moves: _Moves, lr: float, pull: Pull, path: NDArray[np.intp]) -> Freeze | None:
    still = np.flatnonzero(path[1:] == path[:-1])
    if not still.size:
        return None
    at, values = int(path[still[0]]), moves.values
    here = values[at : at + 1]
    update = float((here - lr * gradient(pull, here) - here)[0])
    beside = min(max(at + (1 if update > 0 else -1), 0), values.size - 1)
    return Freeze(
        step=int(still[0]),
        w=float(values[at]),
        update=update,
        half_gap=float(abs(values[beside] - values[at]) / 2),
    )
