"""Colors that mean something: one for each dim of a matmul, for light and for dark pages."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Ink:
    """Colors of one theme; m, n, k are the matmul's dims wherever they are written, drawn or highlighted.

    `series` starts with the page's own colors of series. It goes on where a chart needs more of them.
    """

    text: str
    soft: str
    line: str
    page: str
    panel: str
    m: str
    n: str
    k: str
    good: str
    bad: str
    series: tuple[str, ...]

    def of(self, dim: str | None) -> str:
        """The color of a dim by its letter, in either case; the color of text for None."""
        return {"m": self.m, "n": self.n, "k": self.k}[dim.lower()] if dim else self.text

    def of_bit(self, letter: str) -> str:
        """The color of a bit by its role's letter, as a format's layout has it."""
        return {"S": self.bad, "D": self.k, "E": self.m, "M": self.n, "I": self.n}[letter]


LIGHT = Ink(
    text="#1f2328",
    soft="#59606b",
    line="#b9bec6",
    page="#ffffff",
    panel="#f1f2f4",
    m="#0067b0",
    n="#00734f",
    k="#b0005e",
    good="#0067b0",
    bad="#a34700",
    series=(
        *("#0072b2", "#d55e00", "#009e73", "#a8507f", "#4d4d4d", "#a87400", "#2f86bb"),
        *("#6a3fb5", "#8c2d19", "#5f7a00", "#b3004b", "#00707a"),
    ),
)
DARK = Ink(
    text="#e8ebf0",
    soft="#a6aeba",
    line="#5b626d",
    page="#0f131a",
    panel="#1d232e",
    m="#66b3ff",
    n="#4fd0a0",
    k="#ff7ab8",
    good="#66b3ff",
    bad="#ffa65c",
    series=(
        *("#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7", "#d55e00", "#b8c0cc"),
        *("#9d8cff", "#ffffff", "#b5e655", "#ff6f91", "#3ed6d6"),
    ),
)

INKS = {"light": LIGHT, "dark": DARK}
SCALE_COLORS = "cividis"
