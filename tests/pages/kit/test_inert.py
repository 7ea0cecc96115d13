"""Contract: text from outside is shown, and nothing else comes of it."""

import pytest

from pages.kit.inert import plain, quoted
from tests.pages.every_page.hostile_markup import MARKUP, WORD, live


def bare(markdown: str) -> str:
    """Visible text of Markdown whose marks are all escaped."""
    return markdown.replace("\\", "").replace("\N{WORD JOINER}", "")


@pytest.mark.parametrize("text", MARKUP)
def test_markup_is_shown_and_does_nothing(text):
    assert live(plain(text)) == live(quoted(text)) == []
    assert live(f"a | {plain(text)} | b") == live(f"**b** {plain(text)} `b`") == []
    assert bare(plain(text)) == " ".join(text.split()).replace("\\", "")
    assert WORD in quoted(text)


def test_the_oracle_sees_markup_that_lives():
    assert [text for text in MARKUP[:11] if not live(text)] == []
    backslashes_alone = [f"http\\://{WORD}\\.example", f"\\:material/{WORD}\\:", f"{WORD}\\@{WORD}.example"]
    assert [text for text in backslashes_alone if not live(text)] == []


@pytest.mark.parametrize("text", ["", " ", "`", "``", "a`b", " a ", "`a`", "a\x00b", "\u202eabc", "x" * 50])
def test_code_holds_any_text(text):
    fence = quoted(text)[: len(quoted(text)) - len(quoted(text).lstrip("`"))]
    inside = quoted(text).removeprefix(fence).removesuffix(fence)
    assert fence
    assert fence not in inside
    assert inside[:1] != "`" != inside[-1:]
    assert inside.isprintable()
    assert len(inside) <= 43


def test_a_list_sign_at_the_start_starts_no_list():
    assert [plain(text) for text in ("- a", "+ a", "1. a", "1) a")] == ["\\- a", "\\+ a", "1\\. a", "1\\) a"]


PATHS = {
    "OSError: /usr/lib/x86_64-linux-gnu/libcuda.so.1: no such file": "OSError: libcuda.so.1: no such file",
    "No such file: '/home/ada/fp8/kernels/worker/child.py'": "No such file: 'child.py'",
    'File "/home/ada/fp8/app.py", line 3': 'File "app.py", line 3',
    "in ~/fp8/notes.txt (/tmp/pytest-of-ada/x)": "in notes.txt (…)",
    "open file:///home/ada/a.json": "open file://a.json",
    r"C:\Users\ada\fp8\app.py:12": "app.py:12",
    "PermissionError: /root/.triton/cache/": "PermissionError: …",
}
NO_PATHS = [
    "NVIDIA H200, 2026-11-22, torch 2.11.0+cu130",
    "1.5 times (20 %), block 128×256/2",
    "1/2 of 3/4",
    "TFLOP/s/W",
    "https://arxiv.org/abs/2412.19437",
    "and/or",
    "a / b",
    "x: /s",
    "assets/b.py",
]


@pytest.mark.parametrize("text", PATHS)
def test_the_folders_of_the_server_are_not_told(text):
    assert bare(plain(text)) == PATHS[text]


@pytest.mark.parametrize("text", NO_PATHS)
def test_what_is_no_path_stays_whole(text):
    assert bare(plain(text)) == text
