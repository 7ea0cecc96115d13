"""The cores of this machine that a process may use."""

import os
from math import ceil
from pathlib import Path

CONTAINER = Path("/sys/fs/cgroup")
"""What Linux tells of the container of this process."""


def cores(container: Path = CONTAINER) -> int:
    """Cores that this process may use: those it may run on, and no more than its container has time on."""
    able = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(able, _quota(container) or able)


def _quota(container: Path) -> int | None:
    """Cores' worth of time that a container has, rounded up; None where nothing limits it.

    Source: the Linux kernel's cgroup v2, cpu.max: microseconds in each period, and the period.
    """
    try:
        limit, period = (container / "cpu.max").read_text().split()
        return max(1, ceil(int(limit) / int(period)))
    except (OSError, ValueError, ZeroDivisionError):
        return None  # no container of this kind, or "max"
