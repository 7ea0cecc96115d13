"""The commit of this code, which a row keeps: the code that was measured can be found again."""

import re
import subprocess
from functools import cache
from pathlib import Path

from kernels.paths import ASSETS, TOP

_STAMP = ASSETS / "commit.txt"
"""Git writes the commit into it in an archive (.gitattributes). In a checkout it holds a pattern."""
_HASH = re.compile(r"[0-9a-f]{7,40}")
_LONGEST_S = 10.0


@cache
def commit() -> str | None:
    """The short hash of this code's commit, with "+" where tracked files have changed since.

    None where there is neither git nor a stamp. It is looked up once in a process.
    """
    return looked_up(TOP, _STAMP)


def looked_up(top: Path, stamp: Path) -> str | None:
    """The commit of the code in a folder: of its checkout, or else that on the stamp of an archive."""
    if (top / ".git").exists():
        known = _git(top, "rev-parse", "--short", "HEAD")
        changed = _git(top, "status", "--porcelain", "--untracked-files=no")
        return known and known + ("+" if changed else "")
    try:
        written = stamp.read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return written if _HASH.fullmatch(written) else None


def _git(top: Path, *asked: str) -> str | None:
    """The answer of git; None where it has none."""
    try:
        done = subprocess.run(
            ("git", "-C", str(top), *asked), capture_output=True, text=True, timeout=_LONGEST_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
