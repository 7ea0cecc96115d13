"""The places of A, B and D in a picture: A left, B above, D in the corner, so that m, n and k line up."""

from dataclasses import dataclass
from typing import Any

from pages.kit.charts.tile_marks import Row

Ends = Any
"""Start and stop: two numbers, or two arrays of them."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A rectangle of the picture that shows dim `across` from left to right and dim `down` from the top."""

    name: str
    across: str
    columns: int
    down: str
    rows: int
    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.height

    def box(self, rows: range, columns: range) -> Row:
        """Corners of the rectangle that covers these elements."""
        return self.boxes((rows.start, rows.stop), (columns.start, columns.stop))

    def boxes(self, rows: Ends, columns: Ends) -> Row:
        """Corners of rectangles that cover elements from the first of `rows` and `columns` to the second."""
        wide, tall = self.width / max(self.columns, 1), self.height / max(self.rows, 1)
        return {
            "x0": self.left + wide * columns[0],
            "x1": self.left + wide * columns[1],
            "y0": self.top + tall * rows[0],
            "y1": self.top + tall * rows[1],
        }


@dataclass(frozen=True, kw_only=True)
class Frame:
    """The three panels of one matmul."""

    a: Panel
    b: Panel
    d: Panel

    @property
    def panels(self) -> tuple[Panel, Panel, Panel]:
        return self.a, self.b, self.d

    def panel(self, name: str) -> Panel:
        return {"A": self.a, "B": self.b, "D": self.d}[name]


def frame(
    mnk: tuple[int, int, int],
    *,
    left: float,
    top: float,
    k_wide: float,
    n_wide: float,
    k_tall: float,
    m_tall: float,
    gap: tuple[float, float],
) -> Frame:
    """Panels for these M, N, K, in the picture's units; `gap` is the space (across, down) between them."""
    m, n, k = mnk
    x, y = left + k_wide + gap[0], top + k_tall + gap[1]
    return Frame(
        a=Panel(
            name="A", across="k", columns=k, down="m", rows=m, left=left, top=y, width=k_wide, height=m_tall
        ),
        b=Panel(
            name="B", across="n", columns=n, down="k", rows=k, left=x, top=top, width=n_wide, height=k_tall
        ),
        d=Panel(
            name="D", across="n", columns=n, down="m", rows=m, left=x, top=y, width=n_wide, height=m_tall
        ),
    )
