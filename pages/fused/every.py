"""The recipes side by side: where an amax lives, how often a tensor is read, who can write its codes."""

from functools import lru_cache

from fp8core.linear import OPERANDS, LayerShape, LayerTensor
from fp8core.recipes import RECIPES, Recipe
from kernels.quantize.plan import HELD
from pages.fused.passes import BY_BLOCKS, BY_ROWS, copies_of, together

HEAD = (
    "recipe",
    "amax lives in",
    "reads of " + " / ".join(tensor.value for tensor in OPERANDS),
    "x out of " + BY_ROWS.title,
    "x out of " + BY_BLOCKS.title,
)
_NONE, _LAYERS_KEPT = "–", 8


@lru_cache(maxsize=_LAYERS_KEPT)
def table(layer: LayerShape) -> list[tuple[str, ...]]:
    """A line for each published recipe. Reads are those that make all copies of a tensor in one launch."""
    return [_line(recipe, layer) for recipe in RECIPES.values()]


def _line(recipe: Recipe, layer: LayerShape) -> tuple[str, ...]:
    copies = [one for tensor in OPERANDS for one in copies_of(recipe, tensor, layer)]
    homes = dict.fromkeys(one.reach.home.value for one in copies)
    of_x = copies_of(recipe, LayerTensor.X, layer)
    verdicts = [step.verdict(together(of_x)) if of_x else _NONE for step in (BY_ROWS, BY_BLOCKS)]
    reads = " / ".join(_reads(recipe, tensor, layer) for tensor in OPERANDS)
    return recipe.title, ", ".join(homes) or _NONE, reads, *verdicts


def _reads(recipe: Recipe, tensor: LayerTensor, layer: LayerShape) -> str:
    copies = copies_of(recipe, tensor, layer)
    return str(together(copies).reads(layer.of(tensor), HELD)) if copies else _NONE
