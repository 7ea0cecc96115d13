"""A block to time (TimelineJob), and the ways in which its step is made (Way): plain data, no torch."""

from dataclasses import dataclass
from enum import Enum

from fp8core.recipes import RECIPES, Recipe
from kernels.typed import whole

LARGEST = 1 << 18
"""Of tokens and features."""


class Block(Enum):
    """Layers that run forward and backward. `out` of an MLP are the hidden features between its layers.

    LINEAR  y[tokens, out] = x · wᵀ
    MLP     y[tokens, in] = h · w_downᵀ,  h[tokens, out] = silu(x · w_gateᵀ) · (x · w_upᵀ)
    """

    LINEAR = "linear"
    MLP = "swiglu_mlp"

    @property
    def title(self) -> str:
        return {Block.LINEAR: "One linear layer", Block.MLP: "One SwiGLU MLP block"}[self]


class Way(Enum):
    """A way to make a step. BOUND multiplies operands that lie quantized: no fp8 step can be faster by much.

    OURS_KEPT is OURS between two optimizer steps: the copies of the weights are there already.
    """

    BF16 = "bf16"
    NAIVE = "naive"
    COMPILED = "compiled"
    OURS = "ours"
    OURS_KEPT = "ours_kept"
    BOUND = "bound"

    @property
    def title(self) -> str:
        return _TITLES[self]


_TITLES = {
    Way.BF16: "bf16",
    Way.NAIVE: "naive fp8: casts by torch's own operations",
    Way.COMPILED: "fp8, casts by torch.compile",
    Way.OURS: "fp8, fused",
    Way.OURS_KEPT: "fp8, fused, weights kept",
    Way.BOUND: "fp8, free casts: the matmuls alone",
}


@dataclass(frozen=True, kw_only=True)
class TimelineJob:
    """Time a block's forward and backward in a recipe, made in several ways that take turns in one run.

    turn_ms: how long a way runs in each of the `rounds`. Raises ValueError where a field is out of range.
    """

    block: Block
    recipe: str
    tokens: int
    in_: int
    out: int
    rounds: int = 7
    turn_ms: int = 20

    def __post_init__(self) -> None:
        if self.recipe not in RECIPES:
            raise ValueError(f"unknown recipe {self.recipe!r}; there are {', '.join(RECIPES)}")
        for name, size in (("tokens", self.tokens), ("in", self.in_), ("out", self.out)):
            if not whole(size, 1, LARGEST):
                raise ValueError(f"{name} is a whole number from 1 to {LARGEST}, got {size!r}")
        if not whole(self.rounds, 1, 1000) or not whole(self.turn_ms, 1, 10_000):
            raise ValueError(
                f"a timing has 1 to 1000 rounds of 1 to 10000 ms, got {self.rounds!r} of {self.turn_ms!r} ms"
            )

    @property
    def recipe_data(self) -> Recipe:
        return RECIPES[self.recipe]

    @property
    def flop(self) -> int:
        """Floating-point operations of all matmuls of a step: forward, and the two of the gradients."""
        weights = 3 if self.block is Block.MLP else 1
        return 6 * weights * self.tokens * self.in_ * self.out

    @property
    def size(self) -> str:
        """The fields that decide how much memory it needs, and their values."""
        return f"tokens × in × out = {self.tokens} × {self.in_} × {self.out}"

    @property
    def size_advice(self) -> str:
        """Advice on how to need less memory."""
        return "Take a smaller number of tokens"

    @property
    def title(self) -> str:
        """What runs, for a list of runs."""
        return f"{self.block.title}, {self.recipe_data.title}, {self.tokens} × {self.in_} × {self.out}"
