"""Colors with a meaning, for light and dark pages. `.streamlit/config.toml` has the page's own."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Ink:
    """Colors of one theme; m, n, k are the matmul's dims wherever they are written, drawn or highlighted.

    - page, panel, text, soft: the ground, a field on it, words, quieter words. `text` is also fp8's result.
    - dot, mid: a number that lives; an exact result, and borders of controls.
    - line, hair: a baseline, a grid.
    - scale, win, sub: scales and exponents; the window of a format, and its part with fewer bits.
    - lost, lost_area: what became 0, was clipped or is wrong, and its area. It is also hollow, or has a 0.
    - gold: what a hand can take, or an outlier.
    - ramp: scales from small to large.
    - series: what has no meaning of its own.
    """

    page: str
    panel: str
    text: str
    soft: str
    dot: str
    mid: str
    line: str
    hair: str
    scale: str
    win: str
    sub: str
    lost: str
    lost_area: str
    m: str
    n: str
    k: str
    ramp: tuple[str, ...]
    series: tuple[str, ...]
    gold: str = "#f5b400"

    def of(self, dim: str | None) -> str:
        """Color of a dim by its letter; of text for None."""
        return {"m": self.m, "n": self.n, "k": self.k}[dim.lower()] if dim else self.text

    def of_bit(self, letter: str) -> str:
        return {"S": self.mid, "D": self.n, "E": self.scale, "M": self.text, "I": self.text}[letter]


LIGHT = Ink(
    page="#ffffff",
    panel="#f0f2f5",
    text="#14181f",
    soft="#525c6a",
    dot="#2a3441",
    mid="#78828f",
    line="#a7b0bc",
    hair="#dfe3e9",
    scale="#0b5fb0",
    win="#e3eefa",
    sub="#f1f7fd",
    lost="#c03a00",
    lost_area="#fbdccd",
    m="#00564f",
    n="#5a46c2",
    k="#c0187a",
    ramp=("#cfe0f2", "#aecbe9", "#86b0dd", "#5b93cf", "#2f70b6", "#0d4686"),
    series=(
        *("#2a3441", "#0b5fb0", "#c03a00", "#5a46c2", "#00807a", "#78828f", "#8a6a00"),
        *("#7d2fe6", "#92531a", "#2ca668", "#b03a6b", "#5b93cf"),
    ),
)
DARK = Ink(
    page="#0f131a",
    panel="#1b212b",
    text="#edf0f4",
    soft="#a9b3c1",
    dot="#c3ccd8",
    mid="#76818f",
    line="#5d6878",
    hair="#2b3441",
    scale="#7db7ff",
    win="#16304f",
    sub="#122138",
    lost="#ff8f5e",
    lost_area="#4a2210",
    m="#3fdccf",
    n="#b0a4ff",
    k="#f961a2",
    ramp=("#1d3656", "#25507f", "#336ba6", "#4c89c6", "#7aaede", "#b0d2f4"),
    series=(
        *("#c3ccd8", "#7db7ff", "#ff8f5e", "#b0a4ff", "#3fdccf", "#76818f", "#e0c060"),
        *("#a06bf0", "#c98a4e", "#5fd095", "#e57fa8", "#336ba6"),
    ),
)

INKS = {"light": LIGHT, "dark": DARK}
