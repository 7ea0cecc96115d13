"""The page's sum of bytes beside memory that another program measured."""

from fp8core.linear import LayerShape
from fp8core.recipes import Recipe
from pages.kit.sourced import Measured, sourced
from pages.why_fp8.footprint import shown, total

HEAD = ("layer of the source", "measured there", "counted here", "apart")
MIB = 1 << 20


def counted_mib(one: Measured) -> float:
    """The page's own sum for a measured case; the first recipe stands for FP8, as there: a scale a tensor."""
    recipe: Recipe | None = shown()[0] if one.quantized else None
    layer = LayerShape(one.tokens, one.in_, one.out)
    return total(recipe, layer, one.moment, one.weights) / MIB


def checks() -> list[tuple[str, ...]]:
    """A line a measured case."""
    return [
        (one.name, f"{one.mib:.2f} MiB", f"{counted:.2f} MiB", f"{one.mib / counted - 1:+.1%}")
        for one in sourced().measured
        for counted in [counted_mib(one)]
    ]
