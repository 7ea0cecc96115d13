"""Contract: threads that parse at once all get their trees, whatever the garbage collector does."""

import gc
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pages.kit.in_code.source_text import parsed

PAGES = Path(__file__).resolve().parents[4] / "pages"
FILES = sorted(PAGES.rglob("*.py"))


@pytest.fixture
def restless_collector():
    """A garbage collector that lets other threads run, and threads that take turns often."""
    interval = sys.getswitchinterval()

    def let_others_run(_phase: str, _info: dict) -> None:
        time.sleep(0.0001)

    gc.callbacks.append(let_others_run)
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)
    gc.callbacks.remove(let_others_run)


def test_threads_that_parse_at_once_all_get_their_trees(restless_collector):
    texts = [file.read_text(encoding="utf-8") for file in FILES[:60]]
    with ThreadPoolExecutor(12) as threads:
        trees = list(threads.map(parsed, texts * 4))
    assert len(trees) == 4 * len(texts)


def test_pages_parse_in_one_place_only():
    found = [file.name for file in FILES if "ast.parse(" in file.read_text(encoding="utf-8")]
    assert found == ["source_text.py"]
