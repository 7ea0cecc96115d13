"""Cores and memory that this process may use, and the number of processes that compile beside it."""

import os
from math import ceil
from pathlib import Path

CONTAINER = Path("/sys/fs/cgroup")
"""Limits of this process's container."""
_MOST, _FEW_CORES = 15, 2
_PROCESS_BYTES = 1 << 30
"""Host memory of a process, rounded up: torch, Triton, and zeros of the largest operands."""
_SHARE = 2
"""Half of the free memory is left to others."""


def cores(container: Path = CONTAINER) -> int:
    """Cores that this process may run on, and no more than its container has time on."""
    able = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(able, _quota(container) or able)


def _quota(container: Path) -> int | None:
    """Cores' worth of time of a container, rounded up; None without a limit.

    Source: the Linux kernel's cgroup v2, cpu.max: microseconds in each period, and the period.
    """
    try:
        limit, period = (container / "cpu.max").read_text().split()
        return max(1, ceil(int(limit) / int(period)))
    except (OSError, ValueError, ZeroDivisionError):
        return None  # no such container, or "max"


def free_bytes() -> int:
    """Host memory that is free on the machine and in the container of this process; 0 if unknown."""
    free = _bytes(Path("/proc/meminfo"), "MemAvailable:") << 10
    try:
        limit, used = (int((CONTAINER / f"memory.{name}").read_text()) for name in ("max", "current"))
    except (OSError, ValueError):  # no container, an old kind, or one without a limit
        return free
    left = limit - used + _bytes(CONTAINER / "memory.stat", "inactive_file")
    return max(0, min(free, left) if free else left)


def _bytes(path: Path, name: str) -> int:
    """The number behind a name that starts a line; 0 if there is none."""
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name} ")), 0)


def processes_beside_app(gpus: int) -> int:
    """Processes for all cores but one for the pages and one a worker, within memory; at least one.

    A class on a cold server waits for them; on a warm one they sleep.
    """
    return max(1, _processes(1 + gpus))


def processes_beside_check() -> int:
    """Processes for all cores but one, within memory; none on a machine of two."""
    return _processes(1) if cores() > _FEW_CORES else 0


def _processes(others: int) -> int:
    return max(0, min(_MOST, cores() - others, free_bytes() // _SHARE // _PROCESS_BYTES))
