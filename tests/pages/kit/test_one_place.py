"""Contract: one file alone does what would go wrong in a second one."""

import pytest

from kernels.paths import TOP

PLACES = {
    ".vega_lite_chart(": "view.py",  # which makes every chart legible
    "st.stop()": "shell.py",  # nothing can be drawn after it: only the guard stops, when app.py has drawn all
    "ast.parse(": "source_text.py",  # threads of Python 3.11 that parse at once disturb each other
}


@pytest.mark.parametrize(("words", "name"), PLACES.items(), ids=PLACES.values())
def test_words_are_in_one_file(words, name):
    files = [path.name for path in (TOP / "pages").rglob("*.py") if words in path.read_text("utf-8")]
    assert files == [name]
