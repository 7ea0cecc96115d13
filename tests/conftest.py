"""Most cases of a long sweep are left to `make test-all`. The class's file, Ctrl-C, and the parsers of
command lines.
"""

import argparse
import importlib
import signal
from collections import Counter
from collections.abc import Iterator
from zlib import crc32

import pytest

from pages.kit.classroom.store import CLASS_FILE

LONG = 10
"""Cases of one test beyond which it is a long sweep."""
KEPT = 5
"""One of so many cases of a long sweep is run. Its name decides, so that no axis of the sweep is left out."""
SHORTENED = ("tests/kernels/", "tests/pages/", "tests/fp8core/formats/", "tests/fp8core/test_quantize.py")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark most cases of a long sweep `exhaustive`, before marks are selected. Of each sweep some stay.

    The files of the top folder come first: one is long, and a long one at the end would leave a worker idle.
    """
    items.sort(key=lambda item: item.nodeid.partition("::")[0].count("/") > 1)
    swept = [item for item in items if item.nodeid.startswith(SHORTENED)]
    swept = [item for item in swept if not item.get_closest_marker("exhaustive")]
    cases = Counter(_name(item) for item in swept)
    sample = {item for item in swept if crc32(item.nodeid.encode()) % KEPT == 0}
    long_sweeps = {name for name in map(_name, sample) if cases[name] > LONG}
    for item in set(swept) - sample:
        if _name(item) in long_sweeps:
            item.add_marker(pytest.mark.exhaustive)


def _name(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


@pytest.fixture(autouse=True, scope="session")
def class_file(tmp_path_factory) -> Iterator[None]:
    """A file for the class beside the tree: the one in the tree is the teacher's."""
    patch = pytest.MonkeyPatch()
    patch.setenv(CLASS_FILE, str(tmp_path_factory.mktemp("class") / "class.sqlite"))
    yield
    patch.undo()


@pytest.fixture(autouse=True, scope="session")
def ctrl_c() -> Iterator[None]:
    """Ctrl-C as in a terminal: a shell lets what runs behind ignore it, and tests' processes inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Parsed(BaseException):
    """Arguments were understood; nothing has run yet."""


@pytest.fixture
def parse(monkeypatch):
    """A function that gives a module's command line its arguments; the parser, and nothing is run."""
    real, parsers = argparse.ArgumentParser.parse_args, []

    def parse_args(self, args=None, namespace=None):
        parsers.append(self)
        real(self, args, namespace)
        raise Parsed

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_args)

    def parsed(module, arguments):
        with pytest.raises(Parsed):
            importlib.import_module(f"{module}.__main__").main(arguments)
        return parsers[-1]

    return parsed
