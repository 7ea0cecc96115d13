"""Numbers and shapes in words, as pictures and tables write them."""

import math

from fp8core.tiles import WHOLE, Extent

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power_of_two(exponent: int) -> str:
    """Such as ``2⁻⁷``."""
    return "2" + str(exponent).translate(_RAISED)


def log2(value: float) -> float:
    """log2 of a scale; NaN for one that is NaN or not above 0."""
    return math.log2(value) if value > 0 else math.nan


def span(elements: range) -> str:
    """Such as ``256…383``, or ``5`` where there is one."""
    return str(elements.start) if len(elements) == 1 else f"{elements.start}…{elements.stop - 1}"


def extent(size: Extent) -> str:
    return "all" if size is WHOLE else str(size)


def tile(rows: Extent, columns: Extent) -> str:
    """A tile's extents, such as ``1 × 128`` or ``the whole tensor``."""
    if rows is WHOLE and columns is WHOLE:
        return "the whole tensor"
    return f"{extent(rows)} × {extent(columns)}"


def count(number: int, one: str, many: str | None = None) -> str:
    """Such as ``4 scales``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def short(value: float, digits: int = 4) -> str:
    """`digits` significant digits, with a true minus sign."""
    return f"{value:.{digits}g}".replace("-", "−")
