"""Figures and tables of the page "Outliers" in words."""

import math
from collections.abc import Iterable, Mapping, Sequence

from pages.kit.charts.words import percent_text

INTRODUCTION = (
    "One large number decides the scale of every number that shares it. What that costs the small ones "
    "depends on the recipe: on its format, its tiles, and how its scales are rounded. Up to four "
    "recipes quantize **the same tensor** here; “More controls” has the choice."
)
SOURCES = (
    "Sources: outlier channels, arXiv 2208.07339 (LLM.int8); outlier tokens, arXiv 2402.17762 (massive "
    "activations); scale bias, deadzone and grid noise, arXiv 2605.20402; shrinkage, arXiv 2606.20381."
)
BF16 = "stays bf16 here, and the numbers are bf16 already: no error"
_GAP = "\N{NO-BREAK SPACE}"
_LEAST = 1e-3
_NEARLY_ALL, _WHOLE_DIGITS = 99.0, 4


def percent(share: float, digits: int = 2) -> str:
    """A percentage, such as ``2.6%``; ``< 0.001%`` for what is smaller and not 0."""
    value = 100 * share
    if 0 < abs(value) < _LEAST:
        return f"< {_LEAST}%"
    return percent_text(share, max(digits, _WHOLE_DIGITS if abs(value) >= _NEARLY_ALL else digits))


def db(value: float) -> str:
    """Decibels, such as ``31.5 dB``."""
    return "no error" if math.isinf(value) else f"{value:.1f}{_GAP}dB".replace("-", "−")


def bits(value: float) -> str:
    """Bits an element, scales included, such as ``8.25``."""
    return f"{value:.3f}".rstrip("0").rstrip(".")


def adding_up(parts: Mapping[str, float], total: float, decimals: int) -> dict[str, str]:
    """Parts rounded so that what is printed adds up to the printed total, `total` rounded.

    Each is rounded down, and the largest remainders are rounded up: none is off by a whole digit.
    """
    unit = 10.0**-decimals
    wanted = round(total / unit)
    floors = {name: math.floor(value / unit) for name, value in parts.items()}
    missing = wanted - sum(floors.values())
    by_rest = sorted(parts, key=lambda name: floors[name] - parts[name] / unit)
    for name in by_rest[: max(missing, 0)]:
        floors[name] += 1
    texts = {name: _fixed(count * unit, decimals) for name, count in floors.items()}
    return texts | {"": _fixed(wanted * unit, decimals)}


def _fixed(value: float, decimals: int) -> str:
    text = f"{value:,.{decimals}f}"
    return (text.lstrip("-") if not text.strip("-0.,") else text).replace("-", "−")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first column is text, the others are numbers."""
    lines = ["| " + " | ".join(heads) + " |", "|:--" + "|--:" * (len(heads) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def listed(names: Sequence[str]) -> str:
    """Names in bold, such as ``**a**, **b** and **c**``."""
    bold = [f"**{name}**" for name in names]
    return bold[0] if len(bold) == 1 else f"{', '.join(bold[:-1])} and {bold[-1]}"
