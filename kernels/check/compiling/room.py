"""The room of a machine for helper processes beside a check: cores and memory."""

from pathlib import Path

from kernels.cores import CONTAINER, cores

_MOST = 15
_HELPER_BYTES = 1 << 30
"""Host memory of a process that compiles, rounded up: torch, Triton, and zeros of the largest operands."""

_SHARE = 2
"""Half of what is free is left to the check and to others."""

_FEW_CORES = 2
_MACHINE = Path("/proc/meminfo")


def room_for_helpers() -> int:
    """How many processes may compile beside a check; none on a machine of two cores."""
    count = cores()
    return 0 if count <= _FEW_CORES else min(_MOST, count - 1, free_bytes() // _SHARE // _HELPER_BYTES)


def free_bytes(machine: Path = _MACHINE, container: Path = CONTAINER) -> int:
    """Host memory that is free on the machine and in the container of this process. 0 where neither tells."""
    free = [found["MemAvailable:"] << 10 for found in [_numbers(machine)] if "MemAvailable:" in found]
    try:
        limit, used = ((container / f"memory.{name}").read_text().strip() for name in ("max", "current"))
    except OSError:
        limit = used = "max"  # it is in none, or in one of the old kind
    if limit != "max":
        cached = _numbers(container / "memory.stat").get("inactive_file", 0)
        free.append(int(limit) - int(used) + cached)
    return max(0, min(free, default=0))


def _numbers(path: Path) -> dict[str, int]:
    """The first number of each line, by the word before it; none where there is no such file."""
    try:
        lines = [line.split() for line in path.read_text(encoding="ascii").splitlines()]
    except OSError:
        return {}
    return {name: int(number) for name, number, *_ in lines}
