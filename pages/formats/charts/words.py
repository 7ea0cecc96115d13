"""Numbers and bits in words and colors, for every picture of a format."""

import math

import numpy as np

from fp8core.formats import Format
from pages.kit.charts.words import power_of_two

MONOSPACE = "'Source Code Pro', 'DejaVu Sans Mono', monospace"
ROLES = {"S": "sign", "D": "dot field", "E": "exponent", "M": "mantissa", "I": "integer"}
_MOST_DIGITS = 10
_PLAIN_FROM, _PLAIN_BELOW = 1e-6, 1e7
_SMALL, _LARGE = 0.1, 1e4
_TENTH = 1e-3
_GLANCED, _GLANCED_FROM, _GLANCED_BELOW = 5, 1e-3, 1e5


def number(value: float, digits: int = _MOST_DIGITS) -> str:
    """A value in the fewest digits that give it exactly, at most `digits`, with a true minus sign."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    enough = next((n for n in range(1, digits) if float(f"{value:.{n}g}") == value), digits)
    text = f"{value:.{enough}g}"
    if "e" in text and _PLAIN_FROM <= abs(value) < _PLAIN_BELOW:
        text = np.format_float_positional(float(text), trim="-")
    return text.replace("e+", "e").replace("-", "−")


def glance(value: float) -> str:
    """A value in at most five characters, rounded."""
    if value == 0:
        return "−0" if math.copysign(1.0, value) < 0 else "0"
    if not math.isfinite(value):
        return number(value)
    if _GLANCED_FROM <= abs(value) < _GLANCED_BELOW:
        texts = (np.format_float_positional(float(f"{value:.{n}g}"), trim="-") for n in (5, 3, 2, 1))
        text = next(text for text in texts if len(text.lstrip("-")) <= _GLANCED)
    else:
        text = f"{value:.0e}".replace("e-0", "e-").replace("e+", "e").replace("e0", "e")
    return text.replace("-", "−")


def hexadecimal(code: int, format_: Format) -> str:
    """A code with all of its digits."""
    return f"0x{code:0{-(-format_.bits // 4)}X}"


def power_or_number(value: float) -> str:
    """A power of two, such as 2⁻⁹, where that is exact, else the number."""
    mantissa, exponent = math.frexp(value)
    far = value < _SMALL or value > _LARGE
    return power_of_two(exponent - 1) if mantissa == 0.5 and far else number(value, 6)


def percent(share: float) -> str:
    """A share of many, to a tenth of a percent. It reads 0 or 100 only where the share is none or all."""
    if 0 < share < _TENTH or 1 - _TENTH < share < 1:
        return f"<{_TENTH:.1%}" if share < _TENTH else f">{1 - _TENTH:.1%}"
    return f"{share:.0%}" if share in (0, 1) else f"{share:.1%}"
