"""Figures of errors, as sentences need them."""

import math

from pages.kit.charts.words import percent_text, short

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_SMALL = 1e-3
_GAP = "\N{NO-BREAK SPACE}"
_MOST_DIGITS = 17


def percent(share: float) -> str:
    """A percentage, such as ``0.16%`` or ``1.7 · 10⁻⁵%``."""
    value = 100 * share
    if value == 0 or abs(value) >= _SMALL:
        return percent_text(share, 2)
    exponent = math.floor(math.log10(abs(value)))
    raised = str(exponent).translate(_RAISED)
    return f"{short(value / 10**exponent, 2)}{_GAP}·{_GAP}10{raised}%"


def apart(x: float, y: float, digits: int = 5) -> tuple[str, str]:
    """Two numbers, each in as many digits as it takes to tell them apart."""
    while digits < _MOST_DIGITS and x != y and short(x, digits) == short(y, digits):
        digits += 1
    return short(x, digits), short(y, digits)


def side(bias: float) -> str:
    """The direction of an error: its sign is that of (result - exact) times the sign of exact."""
    return "toward zero" if bias < 0 else "away from zero"
