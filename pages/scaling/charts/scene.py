"""The data of the picture of one scale, and the Vega expressions that follow its selection `pick`."""

import json
from dataclasses import dataclass

from numpy.typing import NDArray

from pages.kit.charts.words import power_of_two
from pages.scaling.charts.stack import START

PICK = "pick"
CURVE, BINS, AMAX, SPANS = "curve", "bins", "amax", "spans"
STEP, BIN = 0.25, 0.25
"""Octaves from one scale to the next, and in a bar of the histogram."""
ZONES = ["becomes 0", "subnormal", "normal", "saturates"]
Numbers = dict[str, NDArray]
"""Columns of numbers, by name."""


@dataclass(frozen=True, kw_only=True)
class Edges:
    """log2 of |x| / scale where a zone ends; the first and the last are the ends of the axis."""

    low: float
    zero: float
    normal: float
    beyond: float
    high: float

    @property
    def spans(self) -> list[tuple[str, float, float]]:
        ends = [self.low, self.zero, self.normal, self.beyond, self.high]
        return list(zip(ZONES, ends[:-1], ends[1:], strict=True))


@dataclass(frozen=True, kw_only=True)
class WindowScene:
    """The data of the picture.

    - `bins`: `left` edge (log2 |x|) and `share` of the elements, all BIN wide.
    - `curve`: log2 scale `s`, `sqnr`, the shares `saturated` and `dead`, the error's parts, every STEP of s.
    - `amax`: these for the amax scale.
    - `start`: the first position of the cursor.
    """

    format_name: str
    edges: Edges
    bins: Numbers
    curve: Numbers
    amax: Numbers
    start: float

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest log2 scale."""
        return float(self.curve["s"][0]), float(self.curve["s"][-1])


NOW = f"(isArray({PICK}.s) ? {PICK}.s[0] : {START})"
"""Vega expression: log2 of the scale that the reader has picked."""

HERE = f"abs(datum.s - {NOW}) < {STEP / 4}"
"""Vega predicate: the row of the curve at the picked scale."""


def powers_of_two(low: float, high: float) -> str:
    """Vega label expression that writes whole exponents as powers of two."""
    names = {str(e): power_of_two(e) for e in range(int(low) - 2, int(high) + 3)}
    return f"({json.dumps(names, ensure_ascii=False)})[toString(datum.value)]"
