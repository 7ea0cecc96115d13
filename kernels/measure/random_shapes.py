"""GEMMs of random shapes: the draw of a seed, its job, and the spread of its ratios. Plain data."""

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from statistics import geometric_mean
from typing import ClassVar

import numpy as np

from fp8core.linear import MATMULS, LayerShape
from fp8core.recipes import RECIPES
from kernels.measure.jobs import MAX_SEED, GemmJob
from kernels.measure.rows import Row
from kernels.paths import ASSETS
from kernels.typed import check_known, check_whole

MAX_DRAWN = 10_000
MAX_TOKENS = 16_384
NARROWEST, WIDEST, LARGEST = 256, 32_768, 262_144
"""Features of a drawn layer: the least, the usual most, and the most of one layer in fifty."""
_STEP = 16
_ONE_IN = 50
_MOST_BESIDE = 8_192

MODELS = tuple(tomllib.loads((ASSETS / "model_layers.toml").read_text(encoding="utf-8")).values())
"""(in, out) of the linear layers of models."""


def draw_shapes(count: int, seed: int) -> tuple[LayerShape, ...]:
    """`count` layers of a seed; more of one seed begin with the same ones.

    - tokens: log-uniform from 1 to MAX_TOKENS, odd ones included.
    - in and out: half the layers are a model's. The others are log-uniform from NARROWEST to WIDEST, in
      multiples of 16.
    - The last of each fifty has an in or an out from WIDEST to LARGEST.

    Raises ValueError for a count outside 0 to MAX_DRAWN, and for a seed below 0.
    """
    check_whole(0, MAX_DRAWN, count=count)
    check_whole(0, 2**63 - 1, seed=seed)
    dice = Random(seed)
    return tuple(_layer(dice, is_large=number % _ONE_IN == _ONE_IN - 1) for number in range(count))


def _layer(dice: Random, *, is_large: bool) -> LayerShape:
    tokens = round(_log_uniform(dice, 1, MAX_TOKENS))
    if is_large:
        features = [_features(dice, WIDEST, LARGEST), _features(dice, NARROWEST, _MOST_BESIDE)]
        in_, out = features if dice.random() < 0.5 else reversed(features)
    elif dice.random() < 0.5:
        in_, out = _one_of(dice, _one_of(dice, MODELS))
    else:
        in_, out = (_features(dice, NARROWEST, WIDEST) for _ in range(2))
    return LayerShape(tokens=tokens, in_=in_, out=out)


def _features(dice: Random, low: int, high: int) -> int:
    return round(_log_uniform(dice, low, high) / _STEP) * _STEP


def _log_uniform(dice: Random, low: int, high: int) -> float:
    return low * (high / low) ** dice.random()


def _one_of(dice: Random, several: Sequence) -> tuple:
    # By random() alone: Python promises its numbers for a seed from version to version, no other method's.
    return several[int(dice.random() * len(several))]


MOST_SHAPES = 50  # so that others need not wait long
RUNS, TURN_MS = 7, 5


@dataclass(frozen=True, kw_only=True)
class AnyShapeJob:
    recipe: str
    matmul: str
    count: int = 20
    seed: int = 0
    size_advice: ClassVar[str] = "Draw a smaller number of shapes, or those of another seed"

    def __post_init__(self) -> None:
        check_known("recipe", self.recipe, RECIPES)
        check_known("matmul", self.matmul, MATMULS)
        check_whole(1, MOST_SHAPES, count=self.count)
        check_whole(0, MAX_SEED, seed=self.seed)

    @property
    def gemms(self) -> Iterator[GemmJob]:
        for layer in draw_shapes(self.count, self.seed):
            yield GemmJob.of(self.recipe, self.matmul, layer, seed=self.seed, runs=RUNS, turn_ms=TURN_MS)

    @property
    def title(self) -> str:
        what = f"{RECIPES[self.recipe].title}, {MATMULS[self.matmul].title}"
        return f"Any shape: {what}, {self.count} shapes of seed {self.seed}"

    @property
    def size(self) -> str:
        return f"the largest of {self.count} shapes of seed {self.seed}"


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    m: int
    n: int
    k: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class AnyShapeDraw:
    job: AnyShapeJob
    rows: tuple[Row, ...]
    left_out: tuple[LeftOut, ...] = ()

    @property
    def done(self) -> int:
        return len(self.rows) + len(self.left_out)


@dataclass(frozen=True, kw_only=True)
class Spread:
    count: int
    worst: float
    p10: float
    median: float
    geometric_mean: float
    best: float


def spread(ratios: Iterable[float]) -> Spread | None:
    sorted_ratios = sorted(ratios)
    if not sorted_ratios:
        return None
    return Spread(
        count=len(sorted_ratios),
        worst=sorted_ratios[0],
        p10=percentile(sorted_ratios, 0.1),
        median=percentile(sorted_ratios, 0.5),
        geometric_mean=geometric_mean(sorted_ratios),
        best=sorted_ratios[-1],
    )


def percentile(values: Sequence[float], part: float) -> float:
    """The value that a part (0 to 1) of the values lies below, interpolated linearly."""
    return float(np.quantile(values, part))
