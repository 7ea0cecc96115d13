"""Numbers and codes in words."""

import math

import numpy as np

from fp8core.formats import Format
from pages.kit.charts.words import power_of_two

MONOSPACE = "'Source Code Pro', 'DejaVu Sans Mono', monospace"
ROLES = {"S": "sign", "D": "dot field", "E": "exponent", "M": "mantissa", "I": "integer"}
_TENTH = 1e-3  # of a percent


def number(value: float, digits: int = 10) -> str:
    """A value in the fewest digits that are exact, at most `digits`."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    enough = next((n for n in range(1, digits) if float(f"{value:.{n}g}") == value), digits)
    text = f"{value:.{enough}g}"
    if "e" in text and 1e-6 <= abs(value) < 1e7:
        text = np.format_float_positional(float(text), trim="-")
    return text.replace("e+", "e").replace("-", "−")


def glance(value: float) -> str:
    """A value in at most seven characters, such as ``−0.3125`` or ``≈−0.014``."""
    exact = number(value)
    if len(exact.lstrip("−")) <= 6:
        return exact
    if 1e-3 <= abs(value) < 1e5:
        texts = (np.format_float_positional(float(f"{value:.{n}g}"), trim="-") for n in (3, 2, 1))
        text = next(text for text in texts if len(text.lstrip("-")) <= 5)
    else:
        text = f"{value:.0e}".replace("e-0", "e-").replace("e+", "e").replace("e0", "e")
    return "≈" + text.replace("-", "−")


def hexadecimal(code: int, format_: Format) -> str:
    return f"0x{code:0{-(-format_.bits // 4)}X}"


def power_or_number(value: float) -> str:
    """A far power of two as ``2⁻⁹``; all else as a number."""
    mantissa, exponent = math.frexp(value)
    is_far = value < 0.1 or value > 1e4
    return power_of_two(exponent - 1) if mantissa == 0.5 and is_far else number(value, 6)


def percent(share: float) -> str:
    """A share to a tenth of a percent; 0% and 100% are exact."""
    if 0 < share < _TENTH or 1 - _TENTH < share < 1:
        return f"<{_TENTH:.1%}" if share < _TENTH else f">{1 - _TENTH:.1%}"
    return f"{share:.0%}" if share in (0, 1) else f"{share:.1%}"
