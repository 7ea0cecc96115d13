"""Contract: a percentage is written as in American print, "2.6%", with no space before its sign.

`pages.kit.charts.words.percent_text` writes one of significant digits; Python's and Vega's `%` formats agree.
"""

import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from pages.kit.charts.words import percent_text

TOP = Path(__file__).resolve().parents[1]
ROOMS = [TOP / room for room in ("fp8core", "kernels", "pages")]
MODULES = sorted(path for room in ROOMS for path in room.rglob("*.py"))
TEXTS = sorted(
    [
        TOP / "README.md",
        *TOP.glob("docs/*.md"),
        *(TOP / "assets").rglob("*.toml"),
        *(path for room in ROOMS for end in ("toml", "js") for path in room.rglob(f"*.{end}")),
    ]
)
# A number, a filled-in value, a printf field, or the beginning of a text that follows one; a space; the sign.
# A number or a bracket behind the sign makes it the remainder of a division, as in expressions of Vega.
SPACED = re.compile(r"""(?:^|[\d}'"∞⁰¹²³⁴-⁹]|%[\d.]*[defg])\s+%(?!\s*[\d(]|\w)""")
STRINGS = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}


def texts(path: Path) -> Iterator[str]:
    """Every text of a module as it is written, every line of another file; none of a file without a sign."""
    if " %" not in path.read_text(encoding="utf-8"):
        return
    with tokenize.open(path) as file:
        if path.suffix != ".py":
            yield from file.read().splitlines()
            return
        tokens = tokenize.generate_tokens(file.readline)
        yield from [token.string for token in tokens if token.type in STRINGS]


def test_no_text_has_a_space_before_a_percent_sign():
    found = {
        path.relative_to(TOP).as_posix(): spaced
        for path in (*MODULES, *TEXTS)
        if (spaced := [text for text in texts(path) if SPACED.search(text)])
    }
    assert found == {}


def test_a_percentage_has_significant_digits_a_true_minus_and_no_space():
    assert [percent_text(share) for share in (0, 0.0261, -0.5, 1.25, 12.5)] == [
        *("0%", "2.61%", "−50%", "125%", "1,250%")
    ]
    assert percent_text(0.0261, 2) == "2.6%"
