"""A random draw to time (AnyShapeJob) and its result (AnyShapeDraw): plain data that travels as JSON."""

from collections.abc import Iterator
from dataclasses import dataclass

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from kernels.bench.any_shape.draw import draw_shapes
from kernels.bench.any_shape.row import AnyShapeRow
from kernels.bench.job import MAX_SEED, GemmJob
from kernels.typed import whole

MOST_SHAPES = 50
"""In one job, so that others need not wait long."""
_RUNS, _TURN_MS = 7, 5


@dataclass(frozen=True, kw_only=True)
class AnyShapeJob:
    """Time one recipe's matmul on `count` layers that a seed draws, each beside torch's best op.

    Raises ValueError where a field is outside its range.
    """

    recipe: str
    matmul: str
    count: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        if self.recipe not in RECIPES:
            raise ValueError(f"unknown recipe {self.recipe!r}; there are {', '.join(RECIPES)}")
        if self.matmul not in MATMULS:
            raise ValueError(f"unknown matmul {self.matmul!r}; there are {', '.join(MATMULS)}")
        if not whole(self.count, 1, MOST_SHAPES):
            raise ValueError(f"one draw is of 1 to {MOST_SHAPES} shapes, got {self.count!r}")
        if not whole(self.seed, 0, MAX_SEED):
            raise ValueError(f"the seed is a whole number from 0 to 2**32 - 1, got {self.seed!r}")

    @property
    def gemms(self) -> Iterator[GemmJob]:
        """The GEMMs of the draw, in the order of the draw."""
        for layer in draw_shapes(self.count, self.seed):
            m, n, k = MATMULS[self.matmul].mnk(layer)
            yield GemmJob(
                recipe=self.recipe,
                matmul=self.matmul,
                m=m,
                n=n,
                k=k,
                seed=self.seed,
                runs=_RUNS,
                turn_ms=_TURN_MS,
            )

    @property
    def title(self) -> str:
        """What runs, for a list of runs."""
        what = f"{RECIPES[self.recipe].title}, {MATMULS[self.matmul].title}"
        return f"Any shape: {what}, {self.count} shapes of seed {self.seed}"

    @property
    def size(self) -> str:
        """The fields that decide how much memory it needs, and their values."""
        return f"the largest of {self.count} shapes of seed {self.seed}"

    @property
    def size_advice(self) -> str:
        """Advice on how to need less memory."""
        return "Draw a smaller number of shapes, or those of another seed"


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A drawn GEMM that could not be timed, with the reason in one sentence."""

    m: int
    n: int
    k: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class AnyShapeDraw:
    """The result of one AnyShapeJob, or its beginning: the GEMMs that were timed, and those left out."""

    job: AnyShapeJob
    rows: tuple[AnyShapeRow, ...]
    left_out: tuple[LeftOut, ...] = ()

    @property
    def done(self) -> int:
        """The number of shapes that had their turn."""
        return len(self.rows) + len(self.left_out)
