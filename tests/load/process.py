"""What a server and the processes that it started use: processor, memory, descriptors."""

from dataclasses import dataclass

import psutil

MB = 1e6


def cpu_s(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


def commands(pid: int) -> dict[int, str]:
    """The command of each process that one has started, and of those that these have."""
    return {child.pid: _command(child) for child in psutil.Process(pid).children(recursive=True)}


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


@dataclass(frozen=True)
class Usage:
    rss_mb: float
    descriptors: int
    processes: int


def usage(pid: int) -> Usage:
    server = psutil.Process(pid)
    return Usage(
        rss_mb=server.memory_info().rss / MB,
        descriptors=server.num_fds(),
        processes=len(server.children(recursive=True)),
    )
