"""The text that a model learns to predict, byte by byte: sources of an installed package, or a file.

Whole files are held out, since code repeats itself. Tests of the package are left out. Its sha256 shows that
two machines read the same text.
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kernels.train.row import TextUsed

PACKAGE = "sympy"
"""torch requires it; its sources are 16 MB, of many authors, under a BSD license."""
ONE_IN = 20
"""One of so many files is held out; of a single file, this part at its end."""
_LEFT_OUT = ("test", "tests", "testing", "benchmarks")
_BETWEEN = b"\n"


@dataclass(frozen=True)
class Text:
    """Bytes to learn from and held-out bytes."""

    source: TextUsed
    train: NDArray[np.uint8]
    held_out: NDArray[np.uint8]


@cache
def installed_text() -> Text:
    """Sources of PACKAGE. Raises ValueError if it is not installed."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ValueError(f"the text is the sources of {PACKAGE}, which is not installed here")
    return folder_text(Path(spec.submodule_search_locations[0]), PACKAGE, version(PACKAGE))


def folder_text(top: Path, name: str, origin: str) -> Text:
    """All .py files below a folder but tests. Raises ValueError for too few."""
    paths = sorted(top.rglob("*.py"), key=lambda path: path.relative_to(top).as_posix())
    every = (path.read_bytes() for path in paths if not _is_test(path.relative_to(top)))
    contents = [each for each in every if each]
    if len(contents) < ONE_IN:
        raise ValueError(f"a text has at least {ONE_IN} files with something in them, got {len(contents)}")
    testing = contents[ONE_IN - 1 :: ONE_IN]
    training = [each for number, each in enumerate(contents, 1) if number % ONE_IN]
    return _text(training, testing, contents, name, origin)


def file_text(path: Path) -> Text:
    """A file; its end is held out. Raises ValueError if it cannot be read."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ValueError(f"the text {path} cannot be read: {error.strerror}") from error
    at = len(content) - len(content) // ONE_IN
    return _text([content[:at]], [content[at:]], [content], path.name, "")


def _text(training: list[bytes], testing: list[bytes], all_: list[bytes], name: str, origin: str) -> Text:
    train, held_out = (np.frombuffer(_BETWEEN.join(each), dtype=np.uint8) for each in (training, testing))
    source = TextUsed(
        name=name,
        version=origin,
        sha256=hashlib.sha256(_BETWEEN.join(all_)).hexdigest(),
        bytes=sum(map(len, all_)),
        files=len(all_),
        held_out_bytes=sum(map(len, testing)),
        held_out_files=len(testing) if len(all_) > 1 else 0,
    )
    return Text(source, train, held_out)


def _is_test(path: Path) -> bool:
    return any(part.lower() in _LEFT_OUT for part in path.parts[:-1]) or path.name.startswith(
        ("test_", "bench_", "conftest")
    )


def check_length(text: Text, sequences: int, length: int) -> None:
    """Raise ValueError if either part of a text is too short for one batch of windows."""
    for name, part, windows in (("to learn from", text.train, 1), ("held out", text.held_out, sequences)):
        if len(part) < (least := windows * length + 1):
            raise ValueError(
                f"a text has at least {least:,} bytes {name}, got {len(part):,} in {text.source.name}"
            )


def window_starts(text: Text, seed: int, first: int, steps: int, sequences: int, length: int) -> NDArray:
    """int64[steps, sequences]: starts of windows.

    Each step's draw depends on the seed and its own number alone, so that a resumed run draws the same.
    """
    most = len(text.train) - length
    draws = [
        np.random.default_rng((seed, step)).integers(0, most, sequences, dtype=np.int64)
        for step in range(first, first + steps)
    ]
    return np.stack(draws)


def held_out_starts(text: Text, sequences: int, length: int, most: int) -> NDArray[np.int64]:
    """int64[batches, sequences]: starts of windows side by side in the held-out text."""
    batches = min(most, (len(text.held_out) - 1) // (sequences * length))
    return np.arange(batches * sequences, dtype=np.int64).reshape(batches, sequences) * length
