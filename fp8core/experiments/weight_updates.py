"""A weight in a narrow format, w ← round(w - lr · g), step after step.

g depends on w alone, so the run walks from value to value, whose next values and chances are known
beforehand.
"""

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import accumulate

import numpy as np

from fp8core.arrays import Float64, Int32, Int64, Integers, Intp
from fp8core.formats import Format
from fp8core.stochastic import chances, nearest_of, neighbors

TARGET = 0.25
_MOVES_KEPT = 8
"""Tables of steps; one of a 16-bit format has 2 MB."""


class Pull(Enum):
    DOWN = "g = 1: a steady pull down"
    UP = "g = −1: a steady pull up"
    TARGET = f"g = w − {TARGET:g}: toward {TARGET:g}"


def gradient(pull: Pull, w: Float64) -> Float64:
    match pull:
        case Pull.DOWN:
            return np.ones_like(w)
        case Pull.UP:
            return -np.ones_like(w)
        case Pull.TARGET:
            return w - TARGET


@dataclass(frozen=True, kw_only=True)
class Freeze:
    """First step at which round-to-nearest stands still: weight, update and half gap."""

    step: int
    w: float
    update: float
    half_gap: float


@dataclass(frozen=True, kw_only=True)
class Walk:
    """w before each step and after the last, float64[steps + 1]: unrounded, and to nearest.

    `places` intp[steps + 1, runs]: places of the stochastic weights among `values`, which lists each value
    twice. `freeze`: None if nearest moves to the end. `drift`: mean of the first stochastic step.
    """

    exact: Float64
    nearest: Float64
    values: Float64
    places: Intp
    freeze: Freeze | None
    drift: float

    def stochastic(self, steps: Integers | slice = slice(None)) -> Float64:
        return self.values[self.places[steps].T]


def walk(format_: Format, start: float, lr: float, pull: Pull, random: Integers, bits: int) -> Walk:
    """Walk from `start`, rounded first; `random` [steps, runs] in 0..2**bits is each step's R."""
    moves = _moves(format_, lr, pull)
    values = moves.values
    first = int(np.searchsorted(values, format_.decode(format_.encode(start))))
    up = chances(moves.fraction, bits)
    steps = range(random.shape[0])
    path = np.array([*accumulate(steps, lambda at, _: moves.nearest[at], initial=first)], np.intp)
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
    """Steps from each of the format's values, as places: to nearest, and both neighbors.

    The unrounded value is at `fraction` between the neighbors.
    """

    values: Float64
    nearest: Int32
    low: Int32
    high: Int32
    fraction: Float64


@lru_cache(maxsize=_MOVES_KEPT)
def _moves(format_: Format, lr: float, pull: Pull) -> _Moves:
    values = np.unique(format_.values[np.isfinite(format_.values)])
    target = values - lr * gradient(pull, values)
    around = neighbors(format_, target)
    nearest, low, high = (
        np.searchsorted(values, value).astype(np.int32)
        for value in (nearest_of(format_, target, around), around.low, around.high)
    )
    return _Moves(values=values, nearest=nearest, low=low, high=high, fraction=around.fraction)


def _paths(moves: _Moves, up: Int64, first: int, random: Integers, bits: int) -> Intp:
    """intp[steps + 1, runs]: twice the places of weights rounded stochastically.

    An odd number is the way up from a place: one table has both.
    """
    least_random = np.repeat((1 << bits) - up, 2).astype(np.promote_types(random.dtype, np.int32))
    ways = 2 * np.stack([moves.low, moves.high], axis=1).ravel().astype(np.intp)
    steps, runs = random.shape
    paths = np.empty((steps + 1, runs), np.intp)
    paths[0] = 2 * first
    least, goes_up, way = (
        np.empty(runs, least_random.dtype),
        np.empty(runs, np.bool_),
        np.empty(runs, np.intp),
    )
    for row, here, after in zip(random, paths[:-1], paths[1:], strict=True):
        least_random.take(here, out=least, mode="clip")
        np.greater_equal(row, least, out=goes_up)
        np.add(here, goes_up, out=way)
        ways.take(way, out=after, mode="clip")
    return paths


def _unrounded(start: float, lr: float, pull: Pull, steps: int) -> Float64:
    """float64[steps + 1]: closed form of the recursion."""
    step = np.arange(steps + 1, dtype=np.float64)
    match pull:
        case Pull.DOWN:
            return start - lr * step
        case Pull.UP:
            return start + lr * step
        case Pull.TARGET:
            return TARGET + (start - TARGET) * (1 - lr) ** step


def _freeze(moves: _Moves, lr: float, pull: Pull, path: Intp) -> Freeze | None:
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
