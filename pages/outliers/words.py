"""Figures and tables of the page "Outliers" in words."""

import math
from collections.abc import Iterable, Sequence

from pages.kit.charts.words import percent_text

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


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first column is text, the others are numbers."""
    lines = ["| " + " | ".join(heads) + " |", "|:--" + "|--:" * (len(heads) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def listed(names: Sequence[str]) -> str:
    """Names in bold, such as ``**a**, **b** and **c**``."""
    bold = [f"**{name}**" for name in names]
    return bold[0] if len(bold) == 1 else f"{', '.join(bold[:-1])} and {bold[-1]}"
