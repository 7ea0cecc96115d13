"""A training run that is asked for (TrainJob): plain data that travels as JSON, and needs no torch."""

from dataclasses import dataclass
from functools import lru_cache

from fp8core.recipes import RECIPES, Recipe
from fp8core.recipes.text import from_text
from kernels.layer.plan import refusal
from kernels.measure.cost import Cost
from kernels.train.sizes import SIZES, Size
from kernels.typed import whole

BF16 = "bf16"
"""The recipe of a run whose linear layers are torch's own, in bf16."""
MOST_STEPS = 1_000_000
LONGEST_S = 3600.0
_RECIPES_KEPT = 256
MAX_SEED = 0xFFFF_FFFF


@dataclass(frozen=True, kw_only=True)
class TrainJob:
    """One run: a recipe, a model's size (kernels.train.sizes), a seed, and its length.

    - recipe: "bf16", the name of a published recipe, or a recipe's line of text (fp8core.recipes.text).
    - seed: of the first weights, the order of the text and random rounding.
    - steps: 0 for as many as a pilot finds to fit into `seconds`.
    - last_bf16: the last block stays in bf16.
    - head: the head is quantized, too; it stays in bf16 otherwise.

    Raises ValueError where a field is outside its range.
    """

    recipe: str
    model: str = "s"
    seed: int = 0
    steps: int = 0
    seconds: float = 60.0
    last_bf16: bool = False
    head: bool = False

    def __post_init__(self) -> None:
        if self.model not in SIZES:
            raise ValueError(f"unknown size of model {self.model!r}; there are {', '.join(SIZES)}")
        if not whole(self.seed, 0, MAX_SEED):
            raise ValueError(f"the seed is a whole number from 0 to 2**32 - 1, got {self.seed!r}")
        if not whole(self.steps, 0, MOST_STEPS):
            raise ValueError(f"a run has 0 to {MOST_STEPS:,} steps, got {self.steps!r}")
        if not 0 < self.seconds <= LONGEST_S:
            raise ValueError(f"a run takes up to {LONGEST_S:,.0f} seconds, got {self.seconds!r}")
        if self.recipe == BF16 and (self.last_bf16 or self.head):
            raise ValueError("a run in bf16 has no layer that a switch could change")
        recipe = self.recipe_data
        if recipe is not None and (reason := refusal(recipe)) is not None:
            raise ValueError(f"no run in {recipe.title}: {reason}")

    @property
    def recipe_data(self) -> Recipe | None:
        """The recipe; None for bf16. Raises ValueError where the text is neither a name nor a line."""
        return recipe_of(self.recipe)

    @property
    def size_data(self) -> Size:
        return SIZES[self.model]

    @property
    def size(self) -> str:
        """The field that decides how much memory it needs, and its value."""
        return f"a model of {self.size_data.title}"

    @property
    def recipe_title(self) -> str:
        """The recipe for a legend."""
        recipe = self.recipe_data
        return BF16 if recipe is None else recipe.title

    @property
    def title(self) -> str:
        """What runs, for a list of runs."""
        return f"Training: {self.recipe_title}, {self.size_data.title}, seed {self.seed}"

    @property
    def size_advice(self) -> str:
        """Advice on how to need less memory."""
        return "Take a smaller model"


@lru_cache(maxsize=_RECIPES_KEPT)
def recipe_of(key: str) -> Recipe | None:
    """The recipe of a key: None for "bf16", a published one by its name, any other by its line.

    Raises ValueError where the key is none of these.
    """
    if key == BF16:
        return None
    if key in RECIPES:
        return RECIPES[key]
    try:
        return from_text(key)
    except ValueError as error:
        raise ValueError(
            f"no recipe is called {key[:80]!r}: there are {BF16}, {', '.join(RECIPES)}; one's own is given "
            "as its line of text"
        ) from error


_READY_S = 20.0
"""Seconds until the first step: pieces and kernels are compiled, a step is captured."""
_FLOP_S = 1e14
_PASSES = 6
"""FLOP of a step for each weight and token: forward, and twice as much backward."""


def train_cost(job: TrainJob) -> Cost:
    """The estimate for a run: getting ready, and its steps at a low rate."""
    size = job.size_data
    step_s = _PASSES * size.block_weights * size.bytes_per_step / _FLOP_S
    return Cost(first_s=_READY_S + (job.steps * step_s if job.steps else job.seconds))
