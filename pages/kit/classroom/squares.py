"""What a class says, as HTML: a square for each answer, in the row of its option or its range."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_STYLE = """<style>
.answers { display: grid; gap: 10px; font-size: 16px; line-height: 22px; }
.answers > div { display: flex; flex-wrap: wrap; align-items: center; gap: 2px 16px; min-height: 30px;
    padding-bottom: 6px; border-bottom: 1px solid light-dark(#dfe3e9, #2b3441); }
.answers .of { flex: 1 0 200px; max-width: 320px; }
.answers .all { flex: 4 1 220px; display: flex; align-items: center; gap: 3px; min-height: 22px; }
.answers i { flex: 0 1 22px; aspect-ratio: 1; border-radius: 3px; background: light-dark(#2a3441, #c3ccd8); }
.answers b { font-weight: 650; margin-left: 6px; }
.answers .holds .of { font-weight: 650; color: light-dark(#0b5fb0, #7db7ff); }
.answers .holds { border-bottom: 2px solid light-dark(#0b5fb0, #7db7ff); }
</style>"""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """Some answers: their words, how many they are, and the truth's own mark."""

    words: str
    count: int
    holds: bool = False


def squares(bars: Sequence[Bar]) -> str:
    """The rows, from the top; the one that holds is marked by a line and in words."""
    rows, told = "".join(map(_row, bars)), escape(alt_text(bars))
    return f'{_STYLE}<div class="answers" role="img" aria-label="{told}">{rows}</div>'


def _row(bar: Bar) -> str:
    words = escape(f"✓ {bar.words}" if bar.holds else bar.words)
    return (
        f'<div{" class=holds" * bar.holds}><span class="of">{words}</span>'
        f'<span class="all">{"<i></i>" * bar.count}<b>{bar.count}</b></span></div>'
    )


def alt_text(bars: Sequence[Bar]) -> str:
    """The rows for a reader who does not see them."""
    told = "; ".join(f"{bar.words}{' (the truth)' if bar.holds else ''}: {bar.count}" for bar in bars)
    return f"The answers of the class. {told}."
