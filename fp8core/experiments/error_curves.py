"""Error of an operand against its crest factor, or its tile, on several draws a point."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache

import numpy as np

from fp8core.arrays import Float32, Floats
from fp8core.checks import real, whole
from fp8core.costs import bits_per_element
from fp8core.errors import rel_err, sqnr_db
from fp8core.experiments.operand_error import total_error
from fp8core.experiments.read_back import as_bf16, read_back
from fp8core.inputs import InputKind, draw
from fp8core.recipes import Operand
from fp8core.tiles import TileShape

CREST_POWERS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""Powers of a Gaussian: near 0 all are ±1, 1 is Gaussian, more has heavier tails."""
DRAWS = 5
"""Draws of a point."""
BAND_LINES, BAND_K = 1 << 7, 1 << 9
"""Lines of a draw, enough for square tiles of 128, and elements along K."""
EXTENTS = tuple(1 << power for power in range(3, 11))
"""Tile extents along K."""
_DRAWS_KEPT = 64
_BANDS_KEPT = 8


@dataclass(frozen=True, kw_only=True)
class Draws:
    """SQNR of every draw at one point, in dB; `at`: crest factor or extent; `bits`: of an element."""

    at: float
    sqnr_db: tuple[float, ...]
    bits: float

    @property
    def mean(self) -> float:
        return float(np.mean(self.sqnr_db))

    @property
    def low(self) -> float:
        return min(self.sqnr_db)

    @property
    def high(self) -> float:
        return max(self.sqnr_db)


@lru_cache(maxsize=_DRAWS_KEPT)
def powered_gaussian(power: float, shape: tuple[int, int], seed: int) -> Float32:
    """float32[rows, columns], rounded to bf16: sign(g) · |g|**power with g from N(0, 1).

    Raises ValueError for a power below 0.
    """
    real("a power", power, 0), whole("a seed", seed, 0)
    g = np.random.default_rng(seed).standard_normal(shape)
    return as_bf16(np.copysign(np.abs(g) ** power, g))


def crest_factor(x: Floats) -> float:
    """Largest |x| over the root mean square."""
    x = x.astype(np.float64)
    return float(np.abs(x).max() / np.sqrt(np.mean(x**2)))


class Counted(Enum):
    ALL = "all elements"
    SMALLER_HALF = "the smaller half of the elements"


def sqnr_of(x: Float32, operand: Operand, seed: int = 0, counted: Counted = Counted.ALL) -> float:
    """SQNR of x as this operand, in dB. The smaller half is |x| below its median."""
    read = read_back(x, operand, seed)
    if counted is Counted.ALL:
        return sqnr_db(float(np.sqrt(total_error(read))))
    size = np.abs(x)
    small = size < np.median(size)
    return sqnr_db(rel_err(read.in_place(read.values)[small], x[small]))


def over_crest(
    operand: Operand,
    shape: tuple[int, int],
    seeds: Sequence[int],
    counted: Counted = Counted.ALL,
    powers: Sequence[float] = CREST_POWERS,
) -> tuple[Draws, ...]:
    """One point for each power: the draws' mean crest factor, and each one's SQNR."""
    points = []
    for power in powers:
        draws = [powered_gaussian(power, shape, seed) for seed in seeds]
        points.append(_draws(operand, draws, seeds, np.mean([crest_factor(x) for x in draws]), counted))
    return tuple(points)


@lru_cache(maxsize=_BANDS_KEPT)
def drawn_bands(kind: InputKind, seed: int) -> tuple[Float32, ...]:
    """DRAWS draws of a kind: float32[BAND_LINES, BAND_K] each, rounded to bf16."""
    seeds = range(DRAWS * seed, DRAWS * seed + DRAWS)
    return tuple(as_bf16(draw(kind, (BAND_LINES, BAND_K), own)) for own in seeds)


def extents_up_to(k: int) -> tuple[int, ...]:
    return (*(extent for extent in EXTENTS if extent < k), k)


def line_tile(extent: int) -> TileShape:
    return TileShape(1, extent)


def square_tile(extent: int) -> TileShape:
    return TileShape(extent, extent)


def over_tiles(
    operand: Operand,
    draws: Sequence[Float32],
    extents: Sequence[int],
    counted: Counted = Counted.ALL,
    tile: Callable[[int], TileShape] = line_tile,
) -> tuple[Draws, ...]:
    """One point for each extent of tiles along K, all else unchanged."""
    seeds = range(len(draws))
    return tuple(
        _draws(with_tile(operand, tile(extent)), draws, seeds, extent, counted) for extent in extents
    )


def with_tile(operand: Operand, tile: TileShape) -> Operand:
    """Operand with another tile, of the tensor itself; a delayed scale becomes a current one."""
    rule = replace(operand.spec.scale_rule, history=0)
    return replace(operand, spec=replace(operand.spec, tile=tile, scale_rule=rule, saved_as=None))


def _draws(
    operand: Operand, draws: Sequence[Float32], seeds: Sequence[int], at: float, counted: Counted
) -> Draws:
    return Draws(
        at=float(at),
        sqnr_db=tuple(sqnr_of(x, operand, seed, counted) for x, seed in zip(draws, seeds, strict=True)),
        bits=bits_per_element(operand, draws[0].shape),
    )
