"""Does a process run?"""

import time


def is_alive(pid: int) -> bool:
    """True for a process that has not ended; one that nobody has waited for yet has ended."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def is_gone(pid: int, within_s: float = 30.0) -> bool:
    """True once it has ended, if that is soon."""
    deadline = time.monotonic() + within_s
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_alive(pid)
