"""The exact rules behind the pictures: the order of operations, rounding, and each case of the scale."""

from collections import Counter

from fp8core.linear import MATMULS
from fp8core.prepare import ROTATED
from fp8core.quantize import RANDOM_BITS
from fp8core.recipes import RECIPES
from fp8core.rounding import Rounding
from pages.kit.charts.operand_words import rounding_words
from pages.kit.scale_rules import recipe_rules, scale_rules
from pages.kit.view import know

_QUANTIZED = """
**From x to a code**, in fp32, each step rounded as IEEE 754 does:

1. Where a recipe says so, x is first replaced by the values of a saved copy, or rotated in fp32 along K and
   rounded to {rotated}; a last run of K that is too short for the rotation is rounded only. What follows is
   done with these numbers.
2. $amax = \\max |x|$ over the tile, and the $scale$ that follows from it (below).
3. $r = 1 / scale$, then $q = x \\cdot r$.
4. What is beyond $\\pm Q_{{max}}$, the largest value of the format, becomes that value (it saturates).
5. The code of $q$: {rounding}.

Stochastic rounding takes {bits} random bits for each element and rounds up where they and the fraction, cut
to {bits} bits, add up to $2^{{{bits}}}$ or more.

NaN or infinity in a tile makes its scale NaN, and its codes NaN too. A format without NaN (E2M1) gets
codes of 0 there: times their scale they are NaN all the same.

**From amax to the scale**
"""


def exact_rules() -> None:
    """Draw the order of operations, rounding, and each case of the scale's rule."""
    place = know()
    place.markdown(
        _QUANTIZED.format(rounding="; or ".join(_roundings()), bits=RANDOM_BITS, rotated=ROTATED.name)
    )
    place.markdown(scale_rules())
    place.markdown("**Rules that go further, and the recipes that have them**")
    place.markdown(recipe_rules())


def _roundings() -> list[str]:
    """How recipes round, the most used way first."""
    used = Counter(
        operand.rounding
        for recipe in RECIPES.values()
        for matmul in MATMULS.values()
        for operand in recipe.spec(matmul).quantized
    )
    return [
        rounding_words(rounding) + f" ({rounding.value})" * (rounding is Rounding.STOCHASTIC)
        for rounding, _ in used.most_common()
    ]
