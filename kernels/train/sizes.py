"""Sizes of the model, and the settings that all runs share. Importing this needs no torch."""

from dataclasses import dataclass
from math import lcm

from fp8core.recipes import RECIPES
from fp8core.tiles import WHOLE

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
"""Every width is a multiple of it, so that no tile of any recipe is cut."""
VOCABULARY = 256
"""One token a byte."""
HEAD_DIM = 64
HEAD = "head"
"""The name of the linear layer that gives a number for each byte."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """A model and its batch.

    - width: features of the residual stream. hidden: features within the MLP, about 8/3 of it.
    - sequences, length: the batch; each step reads sequences · length bytes.
    - rate: the largest learning rate.

    Raises ValueError for widths that are no multiples of TILE.
    """

    name: str
    width: int
    layers: int
    sequences: int = 64
    length: int = 512
    rate: float = 1.2e-3

    def __post_init__(self) -> None:
        if self.width < TILE or self.width % TILE:
            raise ValueError(f"a model's width is a multiple of {TILE}, got {self.width}")

    @property
    def title(self) -> str:
        """The size in words, such as ``size S``."""
        return "the smallest size" if self.name == ON_CPU else f"size {self.name.upper()}"

    @property
    def hidden(self) -> int:
        """8/3 of the width, in whole tiles: three matrices then weigh as much as the two of a 4× MLP."""
        return -(-8 * self.width // (3 * TILE)) * TILE

    @property
    def heads(self) -> int:
        return self.width // HEAD_DIM

    @property
    def bytes_per_step(self) -> int:
        return self.sequences * self.length

    @property
    def block_linears(self) -> dict[str, tuple[int, int]]:
        """(in, out) of the linear layers of a block, by name, in the order of the forward."""
        return {
            "qkv": (self.width, 3 * self.width),
            "proj": (self.width, self.width),
            "gate_up": (self.width, 2 * self.hidden),
            "down": (self.hidden, self.width),
        }

    @property
    def block_weights(self) -> int:
        """Weights in the linear layers of all blocks: those that a recipe quantizes."""
        return self.layers * sum(in_ * out for in_, out in self.block_linears.values())


ON_CPU = "tiny"
"""The one size that the reference's rules train in seconds."""
SIZES = {
    size.name: size
    for size in (
        Size(name="s", width=256, layers=6),
        Size(name="m", width=384, layers=6),
        Size(name=ON_CPU, width=TILE, layers=1, sequences=2, length=2**5),
    )
}
"""s and m are for a GPU; tiny is for a CPU, where the reference's rules are emulated."""
