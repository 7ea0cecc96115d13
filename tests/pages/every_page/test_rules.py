"""The exact rules are written for readers: no docstring, no power that Markdown eats, no name of our code."""

import ast
import re
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[3]
RULES = [
    ("formats", {}),
    ("scaling", {"scaling": "window"}),
    ("scaling", {"scaling": "rules"}),
    ("scaling", {"scaling": "delayed"}),
    ("stochastic_rounding", {"part": "mean"}),
    ("rotations", {}),
    ("tile_layouts", {}),
    ("accumulation", {"sum_show": "steps"}),
    ("accumulation", {"sum_show": "units"}),
    ("outliers", {"outliers_show": "parts"}),
]
POWER_OPERATOR = re.compile(r"(?<=[\w)])\*\*(?=[\w({−-])")
DOCSTRING = re.compile(r"\b(Raises|Returns|\w+Error|u?int(16|32)|float(16|32|64)\[)")
READS_DOCSTRINGS = re.compile(r"getdoc|__doc__")


def names_in(path: Path) -> set[str]:
    """Every name and attribute that a source file uses or defines."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    found = (getattr(node, field, None) for node in nodes for field in ("id", "attr", "arg", "name"))
    return {name for name in found if isinstance(name, str)}


@pytest.fixture(scope="module")
def our_names() -> set[str]:
    return {name for path in (TOP / "fp8core").glob("*.py") for name in names_in(path)}


@pytest.mark.parametrize(("page", "section"), RULES, ids=str)
def test_rules_are_written_for_readers(open_app, our_names, page, section):
    at = open_app(f"pages/{page}.py", **section)
    assert not at.exception, at.exception[0].value
    [rules, *_] = [box for box in at.expander if re.search("exact|What one step", box.label)] or [
        box for box in at.expander if box.label == "How we know"
    ]
    texts = [element.value for kind in ("markdown", "caption") for element in rules.get(kind)]
    assert texts
    for text in texts:
        assert not POWER_OPERATOR.search(text), text
        assert not DOCSTRING.search(text), text
        assert not our_names.intersection(re.findall(r"`([^`]+)`", text)), text


def test_no_page_shows_a_docstring():
    for path in (TOP / "pages").rglob("*.py"):
        assert not READS_DOCSTRINGS.search(path.read_text()), path
