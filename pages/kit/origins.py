"""Origins of recorded rows in words, GPU by GPU; and their files, read once."""

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

VERSIONS = ("torch", "triton")  # the packages whose versions a speed depends on
# The mark of a commit whose files were changed when a row was measured, in words
CHANGED = "+ where files had changed"


@dataclass(frozen=True, kw_only=True)
class RowOrigin:
    """GPU, day, versions and commit ("" without one) of a row."""

    place: str
    date: str
    versions: tuple[str, ...] = ()
    commit: str = ""


def row_origin(row: Any, place: str) -> RowOrigin:
    versions = versions_words(row.machine.versions)
    return RowOrigin(place=place, date=row.date, versions=versions, commit=row.commit or "")


def recorded_on(gpu: str) -> str:
    return f"Recorded on {gpu}"


def versions_words(versions: Mapping[str, str]) -> tuple[str, ...]:
    """Versions that a page names, such as ``torch 2.11.0``."""
    return tuple(f"{name} {versions[name]}" for name in VERSIONS if name in versions)


def origins_words(origins: Iterable[RowOrigin]) -> str:
    """Each GPU with its versions once, then all days and commits of its rows."""
    by_place: dict[tuple[str, tuple[str, ...]], list[RowOrigin]] = {}
    for one in origins:
        by_place.setdefault((one.place, one.versions), []).append(one)
    return "; ".join(_of_place(place, versions, rows) for (place, versions), rows in by_place.items())


def _of_place(place: str, versions: Sequence[str], rows: Sequence[RowOrigin]) -> str:
    days = sorted({row.date for row in rows})
    commits = list(dict.fromkeys(row.commit for row in sorted(rows, key=lambda row: row.date) if row.commit))
    noun = "commit" if len(commits) == 1 else "commits"
    note = f" ({CHANGED})" if any(commit.endswith("+") for commit in commits) else ""
    commit_words = [f"{noun} {listed(commits)}{note}"] if commits else []
    return ", ".join([place, listed(days), *versions, *commit_words])


def span(dates: Iterable[str]) -> str:
    """Write days, such as ``2026-11-23 to 2026-11-24``."""
    return " to ".join(dict.fromkeys((min(days := sorted(dates)), max(days))))


def listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


_ENDING = ".jsonl"

_READING = threading.Lock()  # sessions that come first at the same time read the files once
T = TypeVar("T")


def reread(read: Callable[[Path], T], folder: Path) -> T:
    """Return what `read` makes of a folder; read anew once a recorded file in it changes."""
    with _READING:
        return _reread(read, folder, _stamps(str(folder)))


@lru_cache(maxsize=8)
def _reread(read: Callable[[Path], T], folder: Path, files: tuple[tuple[str, int, int], ...]) -> T:
    return read(folder)


def _stamps(folder: str, depth: int = 1) -> tuple[tuple[str, int, int], ...]:
    """Path, time of change and size of each recorded file in a folder and its subfolders."""
    files: list[tuple[str, int, int]] = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(_ENDING):
                with suppress(OSError):
                    now = entry.stat()
                    files.append((entry.path, now.st_mtime_ns, now.st_size))
            elif depth and entry.is_dir():
                files += _stamps(entry.path, depth - 1)
    return tuple(sorted(files))


@dataclass(frozen=True, kw_only=True)
class Sourced:
    """A document, and its year or month."""

    source: str
    url: str
    date: str

    @property
    def link(self) -> str:
        return f"[{self.source}]({self.url}), {self.date}"
