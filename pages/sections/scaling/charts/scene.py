"""The data of the picture of one scale, and the Vega expressions that follow its selection `pick`."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from pages.kit.charts.words import power_of_two

PICK = "pick"
CURVE, BINS = "curve", "bins"
ZONES = ["becomes 0", "subnormal", "normal", "saturates"]
Row = dict[str, object]


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

    - `bins`: left edge (log2 |x|) and share of the elements, all `bin_width` wide.
    - `curve`: a row a scale: log2 scale `s`, `sqnr`, the shares `saturated` and `dead`, the error's parts.
    - `amax`: such a row for the amax scale.
    - `start`: the first position of the cursor.
    """

    format_name: str
    edges: Edges
    bins: Sequence[Row]
    bin_width: float
    curve: Sequence[Row]
    step: float
    amax: Row
    start: float

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest log2 scale."""
        return self.curve[0]["s"], self.curve[-1]["s"]


def now(scene: WindowScene) -> str:
    """Vega expression: log2 of the scale that the reader has picked."""
    return f"(isArray({PICK}.s) ? {PICK}.s[0] : {scene.start})"


def here(scene: WindowScene) -> str:
    """Vega predicate: the row of the curve at the picked scale."""
    return f"abs(datum.s - {now(scene)}) < {scene.step / 4}"


def powers_of_two(low: float, high: float) -> str:
    """Vega label expression that writes whole exponents as powers of two."""
    names = {str(e): power_of_two(e) for e in range(int(low) - 2, int(high) + 3)}
    return f"({json.dumps(names, ensure_ascii=False)})[toString(datum.value)]"
