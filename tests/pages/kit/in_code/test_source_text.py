"""One function parses for all pages: in Python 3.11, threads that parse at once may disturb each other."""

from pathlib import Path

PAGES = Path(__file__).resolve().parents[4] / "pages"
FILES = sorted(PAGES.rglob("*.py"))


def test_pages_parse_in_one_place_only():
    names = [file.name for file in FILES if "ast.parse(" in file.read_text(encoding="utf-8")]
    assert names == ["source_text.py"]
