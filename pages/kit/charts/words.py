"""Numbers and shapes in words, in the form of pictures and tables."""

import math
from collections.abc import Sequence

from fp8core.linear import LayerTensor
from fp8core.tiles import WHOLE, Extent

LARGEST_IN_FULL = 1e7
_SMALLEST_PLAIN = -2
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_RAISED = str.maketrans("-.0123456789", "⁻·⁰¹²³⁴⁵⁶⁷⁸⁹")


def power_of_two(exponent: float) -> str:
    """A power of two, such as ``2⁻⁷``, or ``2⁻³·¹⁸``."""
    return "2" + f"{exponent:.3g}".translate(_RAISED)


def log2(value: float) -> float:
    """log2 of a scale; NaN for one that is NaN or not above 0."""
    return math.log2(value) if value > 0 else math.nan


def span(elements: range) -> str:
    """A range, such as ``256…383``, or ``5`` where there is one number."""
    return str(elements.start) if len(elements) == 1 else f"{elements.start}…{elements.stop - 1}"


def tile(rows: Extent, columns: Extent, names: tuple[str, str]) -> str:
    """A tile's extents, such as ``1 × 128`` or, with a dim's name where it spans the dim, ``1 × K``."""
    if rows is WHOLE and columns is WHOLE:
        return "the whole tensor"
    sizes = (rows, columns)
    return " × ".join(name if size is WHOLE else str(size) for size, name in zip(sizes, names, strict=True))


def stored_tile(tensor: LayerTensor, rows: Extent, columns: Extent) -> str:
    """The extents of a tile on a stored tensor; a whole dim goes by the name of its axis."""
    return tile(rows, columns, (tensor.axes[0].value, tensor.axes[1].value))


def count(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun, such as ``4 scales``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def bytes_text(number: int) -> str:
    """Bytes in binary units, such as ``56 MiB``."""
    value, unit = float(number), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.3g}\N{NO-BREAK SPACE}{_UNITS[unit]}"


def short(value: float, digits: int = 4) -> str:
    """`digits` significant digits, or all of them before the point, with a true minus sign."""
    large = 10**digits <= abs(value) < LARGEST_IN_FULL
    return f"{value:,.0f}".replace("-", "−") if large else f"{value:.{digits}g}".replace("-", "−")


def percent_text(share: float, digits: int = 3) -> str:
    """A share as a percentage of `digits` significant digits, such as ``2.6%``."""
    return f"{short(100 * share, digits)}%"


def column(values: Sequence[float], digits: int = 5) -> tuple[list[str], str]:
    """Numbers written to one decimal place, and their sum, so that the printed numbers add up.

    The largest has `digits` significant digits. Far from 1, all share its power of ten.
    """
    sizes = [abs(value) for value in values if value]
    if not sizes or not math.isfinite(sum(sizes)):
        return [short(value) for value in values], short(sum(values))
    top = math.floor(math.log10(max(sizes)))
    power = 0 if top >= _SMALLEST_PLAIN and max(sizes) < LARGEST_IN_FULL else top
    last = min(top - digits + 1, power)
    steps = [round(value * 10.0**-last) for value in values]

    def text(count: int) -> str:
        size = f"{count * 10.0 ** (last - power):,.{power - last}f}" + (f"e{power}" if power else "")
        return size.replace("-", "−")

    return [text(count) for count in steps], text(sum(steps))
