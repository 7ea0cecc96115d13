"""The exact rules of a tile's scale."""

import math
from collections.abc import Callable
from functools import cache

from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from fp8core.scales import E8M0_FLOOR, FP32_SCALE, NO_SEARCH, SCALE_RULES, Fit, ScaleRule
from pages.kit.charts.words import power_of_two

_FITS = {
    Fit.NEAREST: "**fp32**: $scale = amax / Q_{max}$, one division, correctly rounded to fp32.",
    Fit.FLOOR: r"**E8M0, floor**: $2^{\lfloor \log_2 amax \rfloor - e_{max}}$, where $2^{e_{max}}$"
    " is the largest power of two in the format (OCP MX 1.0, section 6.3). amax may land above $Q_{max}$ and "
    "saturate.",
    Fit.EVEN: "**E8M0, even**: amax is first rounded to as many mantissa bits as the format has; "
    "then floor (EVEN in torchao).",
    Fit.CEIL: r"**E8M0, ceil**: $2^{\lceil \log_2 amax \rceil - e_{max}}$; amax never "
    "saturates, and the top of the format stays empty.",
    Fit.ROUND_UP: r"**E8M0, round up**: the smallest $2^E$ with $amax \le Q_{max} \cdot 2^E$ "
    "(arXiv 2506.08027, section 3).",
}


def scale_rules() -> str:
    fp32, e8m0 = (power_of_two(math.log2(rule.min_scale)) for rule in (FP32_SCALE, E8M0_FLOOR))
    kinds = "\n".join(f"- {_FITS[rule.fit]}" for rule in SCALE_RULES.values())
    return (
        "A scale follows from **amax**, the largest |x| of its tile, and multiplies the codes back. "
        f"$Q_{{max}}$ is the largest value of the codes' format.\n\n{kinds}\n"
        "- **Powers of two** are read off the exponent and mantissa bits of amax: a logarithm in floating "
        "point is off by one near them.\n"
        "- **A tile of zeros, or an amax too small**: the scale is the smallest one, "
        f"{fp32} in fp32 (its smallest normal number) and {e8m0} in E8M0, so 1 / scale is finite. A tile of "
        "zeros gives codes of zero.\n"
        "- **NaN or infinity in a tile**: the scale is NaN, and so is every code of the tile. A broken value "
        "shows in all that it touches, instead of being clipped to a number.\n"
    )


@cache
def recipe_rules() -> str:
    """Markdown on further rules, each with its recipes."""
    return "\n".join(
        f"- {rule_words} {_users(has)}"
        for rule_words, has in _FURTHER
        if any(has(rule) for _, rule in _used())
    )


_FURTHER: tuple[tuple[str, Callable[[ScaleRule], bool]], ...] = (
    (
        "**Two levels**: with $S_{max}$ the largest inner scale, "
        r"$enc = Q_{max} \cdot S_{max} / amax_{outer}$, the outer scale is $1 / enc$, and the inner one is "
        r"$amax \cdot (enc \cdot (1 / Q_{max}))$, held at the largest number of its format and rounded to "
        "it; it may become 0. Each step is rounded to fp32 (Transformer Engine's order). A code is "
        r"multiplied by both: $r = 1 / (inner \cdot outer)$.",
        lambda rule: rule.has_fitted_outer,
    ),
    (
        "**A constant above the scale**: tiles are fitted without it, and every code is multiplied by it, "
        "too. So codes use a smaller part of the format, and a scale rounded down no longer lets amax "
        "saturate.",
        lambda rule: rule.outer is not None and rule.outer.constant is not None,
    ),
    (
        "**Delayed**: amax is the largest of earlier steps, so one pass over the tensor is enough. What grew "
        "since then saturates, infinity too, and a NaN stays alone in its tile. The first step has no "
        "history and takes the tensor's own amax.",
        lambda rule: rule.history > 0,
    ),
    (
        "**Another target than $Q_{max}$**: amax is brought to a smaller number, where the format has more "
        "mantissa bits.",
        lambda rule: rule.target is not None,
    ),
    (
        "**A search**: the tile is quantized once for each factor of amax, and the scale with the least "
        "squared error stays, the first of equals.",
        lambda rule: rule.search != NO_SEARCH,
    ),
)


def _used() -> list[tuple[str, ScaleRule]]:
    return [
        (recipe.title, operand.scale_rule)
        for recipe in RECIPES.values()
        for matmul in MATMULS.values()
        for operand in recipe.spec(matmul).quantized
    ]


def _users(has: Callable[[ScaleRule], bool]) -> str:
    titles_of: dict[str, dict[str, None]] = {}
    for title, rule in _used():
        if has(rule):
            titles_of.setdefault(rule.words, {})[title] = None
    return " ".join(f"{'; '.join(titles)}: {words}." for words, titles in titles_of.items())
