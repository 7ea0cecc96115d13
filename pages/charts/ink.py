"""Colours that mean something: one for each dim of a matmul, in text and on marks, for light and dark pages."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Ink:
    """Colours of one theme; m, n, k are the matmul's dims wherever they are written, drawn or highlighted."""

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

    def of(self, dim: str | None) -> str:
        """The colour of a dim by its letter, in either case; the text's for None."""
        return {"m": self.m, "n": self.n, "k": self.k}[dim.lower()] if dim else self.text


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
)
DARK = Ink(
    text="#e8ebf0",
    soft="#a6aeba",
    line="#5b626d",
    page="#0e1117",
    panel="#20242c",
    m="#66b3ff",
    n="#4fd0a0",
    k="#ff7ab8",
    good="#66b3ff",
    bad="#ffa65c",
)

INKS = {"light": LIGHT, "dark": DARK}
SCALE_COLORS = "cividis"
