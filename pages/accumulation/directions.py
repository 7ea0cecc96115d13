"""Forward and backward: how each recipe adds in its three matmuls."""

from functools import lru_cache

from fp8core.accumulators import ACCUMULATORS
from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES, MatmulSpec
from fp8core.tiles import WHOLE
from pages.kit.widgets import Place

FP22 = ACCUMULATORS["hopper_fast"].out
"""The format that Hopper's FP8 tensor core keeps of a sum."""


def fp22_words() -> str:
    """The usual name of the format of Hopper's sums, and its bits."""
    return (
        f"The sums of Hopper's FP8 unit have {FP22.bits} bits: a sign, {FP22.exponent_bits} exponent bits "
        f"and {FP22.mantissa_bits} mantissa bits. So many call them **fp{FP22.bits}**. They lie in fp32 "
        "registers, whose other bits are 0."
    )


def draw_directions(place: Place) -> None:
    """Draw the table, with the reason for its columns."""
    place.markdown(
        "**Forward and backward.** Recipes of torch and Transformer Engine often sum fast in the forward "
        "pass, and promote in the two backward matmuls: an error of y is one among many, while an error of a "
        "gradient goes on to every layer before it and into the weights. DeepSeek-V3 promotes everywhere."
    )
    place.markdown(table())
    place.caption(
        "Recipes whose codes the FP8 tensor core of Hopper adds. All others are multiplied in bf16 there. "
        "Sources: torchao float8, use_fast_accum, which is true for the output only; Transformer Engine, "
        "split accumulators of Dgrad and Wgrad; DeepSeek-V3, arXiv 2412.19437, section 3.3.2."
    )


@lru_cache(maxsize=1)
def table() -> str:
    """A line for each way to add, with the recipes that add so."""
    ways: dict[tuple[str, ...], list[str]] = {}
    for recipe in RECIPES.values():
        specs = [recipe.spec(matmul) for matmul in MATMULS.values()]
        if any(spec.accumulator.out == FP22 for spec in specs):
            ways.setdefault(tuple(map(_way, specs)), []).append(f"“{recipe.title}”")
    heads = " | ".join(matmul.title for matmul in MATMULS.values())
    lines = [f"| {heads} | recipes |", "|:--" * (len(MATMULS) + 1) + "|"]
    lines += [f"| {' | '.join(way)} | {', '.join(titles)} |" for way, titles in ways.items()]
    return "\n".join(lines)


def _way(spec: MatmulSpec) -> str:
    """The way in which a matmul adds, in words."""
    if not spec.quantized:
        return "bf16"
    every = spec.accumulator.promotion
    return "one chain" if every is WHOLE else f"promoted every {every}"
