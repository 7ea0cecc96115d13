"""A training run (TrainJob), and the sizes of its model: plain data, without torch."""

from dataclasses import dataclass
from functools import lru_cache
from math import lcm

from fp8core.recipes import RECIPES, Recipe
from fp8core.recipes.text import from_text
from fp8core.tiles import WHOLE
from kernels.layer.plan import refusal
from kernels.measure.jobs import MAX_SEED, Cost
from kernels.typed import check_known, check_whole

TILE = lcm(
    *(
        extent
        for recipe in RECIPES.values()
        for matmul in (recipe.fprop, recipe.dgrad)
        for spec in matmul.quantized
        for extent in (spec.tile.mn, spec.tile.k)
        if extent is not WHOLE
    )
)
"""Divides every width, so that no tile of any recipe is cut."""
VOCABULARY = 256
HEAD_DIM = 64
HEAD = "head"
"""Name of the linear layer that gives the logits."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """A model and its batch.

    - width: features of the residual stream, a multiple of TILE. rate: the largest learning rate.
    - sequences, length: the batch; each step reads sequences · length bytes.
    """

    name: str
    width: int
    layers: int
    sequences: int = 64
    length: int = 512
    rate: float = 1.2e-3

    @property
    def title(self) -> str:
        return "the smallest size" if self.name == ON_CPU else f"size {self.name.upper()}"

    @property
    def hidden(self) -> int:
        """8/3 of the width, in whole tiles: three matrices weigh as much as the two of a 4× MLP."""
        return -(-8 * self.width // (3 * TILE)) * TILE

    @property
    def heads(self) -> int:
        return self.width // HEAD_DIM

    @property
    def bytes_per_step(self) -> int:
        return self.sequences * self.length

    @property
    def block_linears(self) -> dict[str, tuple[int, int]]:
        """(in, out) of a block's linear layers."""
        return {
            "qkv": (self.width, 3 * self.width),
            "proj": (self.width, self.width),
            "gate_up": (self.width, 2 * self.hidden),
            "down": (self.hidden, self.width),
        }

    @property
    def block_weights(self) -> int:
        return self.layers * sum(in_ * out for in_, out in self.block_linears.values())


ON_CPU = "tiny"
"""The size that the reference's rules train in seconds."""
SIZES = {
    size.name: size
    for size in (
        Size(name="s", width=256, layers=6),
        Size(name="m", width=384, layers=6),
        Size(name=ON_CPU, width=TILE, layers=1, sequences=2, length=2**5),
    )
}

BF16 = "bf16"
"""torch's own linear layers, in bf16."""
MOST_STEPS = 1_000_000
LONGEST_S = 3600.0
_MOST_RECIPES = 256


@dataclass(frozen=True, kw_only=True)
class TrainJob:
    """One run: a recipe, a model's size, a seed, and its length.

    - recipe: "bf16", the name of a published recipe, or a recipe's line of text (fp8core.recipes.text).
    - seed: of the first weights, the order of the text and random rounding.
    - steps: 0 for as many as fit into `seconds`.
    - last_bf16: the last block stays in bf16. head: the head is quantized, too.

    Raises ValueError for a field out of range.
    """

    recipe: str
    model: str = "s"
    seed: int = 0
    steps: int = 0
    seconds: float = 60.0
    last_bf16: bool = False
    head: bool = False

    def __post_init__(self) -> None:
        check_known("size of model", self.model, SIZES)
        check_whole(0, MAX_SEED, seed=self.seed)
        check_whole(0, MOST_STEPS, steps=self.steps)
        if not 0 < self.seconds <= LONGEST_S:
            raise ValueError(f"a run takes up to {LONGEST_S:,.0f} seconds, got {self.seconds!r}")
        if self.recipe == BF16 and (self.last_bf16 or self.head):
            raise ValueError("a run in bf16 has no layer that a switch could change")
        recipe = self.recipe_data
        if recipe is not None and (reason := refusal(recipe)) is not None:
            raise ValueError(f"no run in {recipe.title}: {reason}")

    @property
    def recipe_data(self) -> Recipe | None:
        """The recipe; None for bf16."""
        return recipe_of(self.recipe)

    @property
    def size_data(self) -> Size:
        return SIZES[self.model]

    @property
    def size(self) -> str:
        return f"a model of {self.size_data.title}"

    @property
    def recipe_title(self) -> str:
        recipe = self.recipe_data
        return BF16 if recipe is None else recipe.title

    @property
    def title(self) -> str:
        return f"Training: {self.recipe_title}, {self.size_data.title}, seed {self.seed}"

    @property
    def size_advice(self) -> str:
        return "Take a smaller model"


@lru_cache(maxsize=_MOST_RECIPES)
def recipe_of(key: str) -> Recipe | None:
    """Raises ValueError for a key that is neither "bf16", a name nor a line."""
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
"""Until the first step: pieces and kernels compile, a step is captured."""
_FLOP_S = 1e14
_PASSES = 6
"""FLOP of a step for each weight and token: forward, and twice as much backward."""


def train_cost(job: TrainJob) -> Cost:
    size = job.size_data
    step_s = _PASSES * size.block_weights * size.bytes_per_step / _FLOP_S
    return Cost(first_s=_READY_S + (job.steps * step_s if job.steps else job.seconds))
