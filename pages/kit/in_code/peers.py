"""The versions against which the texts to copy were checked.

`assets/peers/<library>.json` holds the signatures of the names that the texts use, recorded from a release by
`python -m tests.peers.record`. What is installed here is run by the tests instead.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version

from kernels.paths import TOP

RECORDED = {
    "torchao": "torchao",
    "Transformer Engine": "transformer_engine",
    "nvdlfw_inspect": "nvdlfw_inspect",
}
"""Libraries that are not installed here, and the names of their files."""
INSTALLED = {"torch": "torch", "ml_dtypes": "ml_dtypes", "Triton": "triton"}
"""Libraries that are, and the names of their packages."""
BOUND = {"Triton"}
"""Those of which a text is a part of a kernel: its calls are bound to signatures, and nothing is run."""
FOLDER = TOP / "assets" / "peers"


@dataclass(frozen=True, kw_only=True)
class Release:
    """A release of a library, and the day on which its signatures were recorded."""

    version: str
    date: str


@lru_cache(maxsize=len(RECORDED))
def release(library: str) -> Release:
    """The recorded release. Raises KeyError for a library that has none."""
    found = json.loads((FOLDER / f"{RECORDED[library]}.json").read_text(encoding="utf-8"))
    return Release(version=found["version"], date=found["date"])


@lru_cache(maxsize=16)
def checked_words(library: str) -> str:
    """The version that a library's texts were checked against, in a sentence."""
    if library in RECORDED:
        found = release(library)
        return f"Checked against the signatures of {library} {found.version}, recorded on {found.date}."
    if library in INSTALLED:
        how = "Bound to signatures" if library in BOUND else "Run"
        try:
            return f"{how} by this project's tests; here with {library} {version(INSTALLED[library])}."
        except PackageNotFoundError:
            return f"{how} by this project's tests; {library} is not installed here."
    return "Run by this project's tests."
