"""What a process and those it started use, read from Linux: processor, memory, descriptors."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
PAGE = os.sysconf("SC_PAGE_SIZE")
MB = 1e6


def cpu_s(pid: int) -> float:
    """The seconds of processor that a process has used, to the nanosecond; 0 where it has ended."""
    try:
        return time.clock_gettime((~pid << 3) | 2)  # Linux's number for "the clock of that process"
    except OSError:
        return 0.0


def descendants(pid: int) -> list[int]:
    """The processes that one has started, and those that these have."""
    parents: dict[int, list[int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdecimal():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            parents.setdefault(parent, []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


@dataclass(frozen=True)
class Usage:
    """What a server holds: its own memory, its descriptors and threads, and the processes it has started."""

    rss_mb: float
    descriptors: int
    threads: int
    processes: int
    processes_rss_mb: float


def usage(pid: int) -> Usage:
    """What a server holds now."""
    children = descendants(pid)
    return Usage(
        rss_mb=_rss(pid) / MB,
        descriptors=len(os.listdir(PROC / str(pid) / "fd")),
        threads=len(os.listdir(PROC / str(pid) / "task")),
        processes=len(children),
        processes_rss_mb=sum(map(_rss, children)) / MB,
    )


def _rss(pid: int) -> int:
    try:
        return int((PROC / str(pid) / "statm").read_text().split()[1]) * PAGE
    except OSError:
        return 0
