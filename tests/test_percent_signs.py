"""Contract: a percentage is written as in American print, "2.6%", with no space before its sign.

`pages.kit.charts.words.percent_text` writes one of significant digits; Python's and Vega's `%` formats agree.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
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


@cache
def constants() -> Mapping[str, str]:
    """The module-level names of texts, such as a no-break space, in all modules."""
    named = {}
    for path in MODULES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                names = [target.id for target in node.targets if isinstance(target, ast.Name)]
                named |= {name: node.value.value for name in names if isinstance(node.value.value, str)}
    return named


def texts(source: str, names: Mapping[str, str]) -> Iterator[str]:
    """Every text of a module; an f-string has a 0 where it takes a value that is no named text."""
    tree = ast.parse(source)
    joined = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    inside = {id(part) for node in joined for part in node.values}
    for node in joined:
        yield "".join(_part(part, names) for part in node.values)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield node.value


def _part(part: ast.expr, names: Mapping[str, str]) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    assert isinstance(part, ast.FormattedValue), ast.dump(part)
    return names.get(part.value.id, "0") if isinstance(part.value, ast.Name) else "0"


def test_no_text_of_a_module_has_a_space_before_a_percent_sign():
    found = {
        path.relative_to(TOP).as_posix(): spaced
        for path in MODULES
        if (spaced := [text for text in texts(path.read_text(), constants()) if SPACED.search(text)])
    }
    assert found == {}


def test_no_lesson_or_page_of_text_has_a_space_before_a_percent_sign():
    found = {
        path.relative_to(TOP).as_posix(): spaced
        for path in TEXTS
        if (spaced := [line for line in path.read_text().splitlines() if SPACED.search(line)])
    }
    assert found == {}


def test_a_percentage_has_significant_digits_a_true_minus_and_no_space():
    assert [percent_text(share) for share in (0, 0.0261, -0.5, 1.25, 12.5)] == [
        *("0%", "2.61%", "−50%", "125%", "1,250%")
    ]
    assert percent_text(0.0261, 2) == "2.6%"
