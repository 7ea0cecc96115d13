"""Numbers, shapes and recipes in words."""

import math
from collections.abc import Sequence

from fp8core.costs import bits_per_element
from fp8core.linear import LayerTensor
from fp8core.recipes import Operand
from fp8core.rotations import Rotation
from fp8core.tiles import WHOLE, Extent

LARGEST_IN_FULL = 1e7
NONE = "–"
_SMALLEST_PLAIN = -2
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_RAISED = str.maketrans("-.0123456789", "⁻·⁰¹²³⁴⁵⁶⁷⁸⁹")


def power_of_two(exponent: float) -> str:
    """Write a power of two, such as ``2⁻⁷`` or ``2⁻³·¹⁸``."""
    return "2" + f"{exponent:.3g}".translate(_RAISED)


def power_labels(exponent: str) -> str:
    """Vega expression for the label of a power of two, from one for its exponent: none for a fraction."""
    superscripts = {"-": power_of_two(-1)[1]} | {str(digit): power_of_two(digit)[1] for digit in range(10)}
    label = f"'' + ({exponent})"
    for plain, small in superscripts.items():
        label = f"replace({label}, regexp('{plain}', 'g'), '{small}')"
    return f"({exponent}) % 1 ? '' : '2' + {label}"


def span(elements: range) -> str:
    """Write a range, such as ``256…383``."""
    return str(elements.start) if len(elements) == 1 else f"{elements.start}…{elements.stop - 1}"


def tile(rows: Extent, columns: Extent, names: tuple[str, str]) -> str:
    """Write a tile's extents, such as ``1 × 128``, or ``1 × K`` where a tile spans a dim."""
    if rows is WHOLE and columns is WHOLE:
        return "the whole tensor"
    sizes = (rows, columns)
    return " × ".join(name if size is WHOLE else str(size) for size, name in zip(sizes, names, strict=True))


def stored_tile(tensor: LayerTensor, rows: Extent, columns: Extent) -> str:
    return tile(rows, columns, (tensor.axes[0].value, tensor.axes[1].value))


def count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def bytes_text(number: int) -> str:
    """Write bytes in binary units, such as ``56 MiB``."""
    value, unit = float(number), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{short(value, 3)}\N{NO-BREAK SPACE}{_UNITS[unit]}"


def short(value: float, digits: int = 4) -> str:
    """Write `digits` significant digits, or all before the point, with a true minus sign."""
    digits_text = f"{value:.{digits}g}"
    large = 10**digits <= abs(float(digits_text)) and abs(value) < LARGEST_IN_FULL
    return (f"{value:,.0f}" if large else digits_text).replace("-", "−")


def percent_text(share: float, digits: int = 3) -> str:
    """Write a percentage, such as ``2.6%``; with four digits just below 100%."""
    return f"{short(100 * share, max(digits, 4) if 0.99 <= share < 1 else digits)}%"


def column(values: Sequence[float], digits: int = 5) -> tuple[list[str], str]:
    """Write numbers to one decimal place with their sum, so that the printed numbers add up.

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


def rotation_words(rotation: Rotation) -> str:
    return f"{rotation.kind.value}, {rotation.size} along K"


def scales_words(tensor: LayerTensor, operand: Operand) -> str:
    rule = operand.spec.scale_rule
    return f"one {rule.format.name} scale for {stored_tile(tensor, *operand.tile)}{_outer(tensor, operand)}"


def _outer(tensor: LayerTensor, operand: Operand) -> str:
    outer = operand.spec.scale_rule.outer
    if outer is None:
        return ""
    if outer.constant is not None:
        return f", times the constant {outer.constant:.6g}"
    shared = stored_tile(tensor, *operand.stored((outer.tile.mn, outer.tile.k)))
    return f", under one {outer.format.name} scale for {shared}"


def bits_words(operand: Operand | None, shape: tuple[int, int]) -> str:
    return short(bits_per_element(operand, shape), 4)


def duration(us: float) -> str:
    if us < 999.5:
        return f"{us:.3g} µs"
    return f"{us / 1e3:.3g} ms" if us < 999.5e3 else f"{short(us / 1e6, 3)} s"


def ratio(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}×"


def number(value: float | None) -> str:
    if value is None:
        return NONE
    return f"{value:,.0f}" if value >= 100 else short(value, 3)


def code_text(code: int, bits: int) -> str:
    return f"0x{code:0{-(-bits // 4)}x}"
