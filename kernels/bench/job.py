"""One GEMM to measure: recipe, matmul, shape, and how it is timed."""

from dataclasses import dataclass
from enum import Enum

from fp8core.formats import FORMATS
from fp8core.inputs import InputKind
from fp8core.linear import MATMULS, Matmul
from fp8core.recipes import RECIPES, Recipe
from fp8core.recipes.text import OWN_NAME, own_recipe
from kernels.gemm.meaning import Summation
from kernels.typed import whole

MAX_DIM = 2**18


MAX_RUNS = 1000


MAX_SEED = 0xFFFF_FFFF


MAX_TURN_MS = 1000


class Cache(Enum):
    """The contents of the L2 when a timed launch starts.

    HOT: the data that earlier launches left, as in training: launches run back to back over rotated buffers.
    COLD: none of its operands. The L2 is flushed before each launch, and each launch is timed alone.
    """

    HOT = "hot"
    COLD = "cold"


class Into(Enum):
    """The destination of the product: a NEW D, or an fp32 D that it is added to (ACCUMULATE).

    A weight gradient is accumulated in this way over micro-batches.
    """

    NEW = "new"
    ACCUMULATE = "accumulate"


@dataclass(frozen=True, kw_only=True)
class GemmJob:
    """One GEMM to run and measure.

    `own` is the line of the reader's own recipe (fp8core.recipes.text) where `recipe` is "own", else empty.
    `turn_ms` is how long each contender runs in each of the `runs` rounds of a hot timing. `settle_ms` is how
    long it runs before it is timed, hot or cold: a card at its power limit keeps the clock of the work
    before.

    Raises ValueError where a field is outside its range.
    """

    recipe: str
    matmul: str
    m: int
    n: int
    k: int
    input: InputKind = InputKind.GAUSSIAN
    seed: int = 0
    accumulation: Summation = Summation.RECIPE
    cache: Cache = Cache.HOT
    into: Into = Into.NEW
    runs: int = 20
    turn_ms: int = 20
    settle_ms: int = 0
    own: str = ""

    def __post_init__(self) -> None:
        self._check_recipe()
        if self.matmul not in MATMULS:
            raise ValueError(f"unknown matmul {self.matmul!r}; there are {', '.join(MATMULS)}")
        for name in ("m", "n", "k"):
            size = getattr(self, name)
            if not whole(size, 0, MAX_DIM):
                raise ValueError(f"{name.upper()} is a whole number from 0 to {MAX_DIM}, got {size!r}")
        if not whole(self.seed, 0, MAX_SEED):
            raise ValueError(f"the seed is a whole number from 0 to 2**32 - 1, got {self.seed!r}")
        if not whole(self.runs, 1, MAX_RUNS):
            raise ValueError(f"runs is a whole number from 1 to {MAX_RUNS}, got {self.runs!r}")
        if not whole(self.turn_ms, 1, MAX_TURN_MS):
            raise ValueError(f"turn_ms is a whole number from 1 to {MAX_TURN_MS}, got {self.turn_ms!r}")
        if not whole(self.settle_ms, 0, MAX_TURN_MS):
            raise ValueError(f"settle_ms is a whole number from 0 to {MAX_TURN_MS}, got {self.settle_ms!r}")
        if self.into is Into.ACCUMULATE and not self.writes_fp32:
            raise ValueError(
                f"adding into D needs an fp32 D, and {self.matmul_data.title} of {self.recipe_data.title} "
                f"writes {self.recipe_data.spec(self.matmul_data).out.name}"
            )

    def _check_recipe(self) -> None:
        """Raise ValueError where the recipe is unknown, or the line of an own one does not fit."""
        if self.recipe not in (*RECIPES, OWN_NAME):
            raise ValueError(f"unknown recipe {self.recipe!r}; there are {', '.join(RECIPES)} and {OWN_NAME}")
        if self.recipe in RECIPES and self.own:
            raise ValueError(f"a line of an own recipe comes with the recipe {OWN_NAME}, got {self.recipe!r}")
        if self.recipe not in RECIPES:
            own_recipe(self.own)

    @property
    def recipe_data(self) -> Recipe:
        return RECIPES[self.recipe] if self.recipe in RECIPES else own_recipe(self.own)

    @property
    def matmul_data(self) -> Matmul:
        return MATMULS[self.matmul]

    @property
    def writes_fp32(self) -> bool:
        """True if D is fp32, so that a product can be added into it."""
        return self.recipe_data.spec(self.matmul_data).out == FORMATS["fp32"]

    @property
    def flop(self) -> int:
        """The number of floating-point operations: 2 · M · N · K."""
        return 2 * self.m * self.n * self.k

    @property
    def title(self) -> str:
        """What runs, for a list of runs."""
        added = ", added into D" if self.into is Into.ACCUMULATE else ""
        cold = ", cold L2" if self.cache is Cache.COLD else ""
        return (
            f"{self.recipe_data.title}, {self.matmul_data.title}, {self.m} × {self.n} × {self.k}{added}{cold}"
        )

    @property
    def size(self) -> str:
        """The fields that decide how much memory it needs, and their values."""
        return f"M × N × K = {self.m} × {self.n} × {self.k}"

    @property
    def size_advice(self) -> str:
        """Advice on how to need less memory."""
        return "Make M, N or K smaller"
