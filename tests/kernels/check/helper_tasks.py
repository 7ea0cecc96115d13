"""Tasks for helper processes of tests. Importing this needs no torch, so that a process is there at once."""

import os
import subprocess
import sys
import time
from pathlib import Path
from signal import SIGKILL

import psutil

LONG_S = 60.0


def note(folder: Path, task: str) -> None:
    """A task: "die" and "fail" end the process, "hang" waits with a child, all others leave a file."""
    if task == "die":
        os.kill(os.getpid(), SIGKILL)
    if task == "fail":
        raise RuntimeError("no")
    if task == "hang":
        child = subprocess.Popen(["sleep", str(LONG_S)])
        (folder / "hang").write_text(f"{os.getpid()} {child.pid}")
        child.wait()
    sys.stderr.write("a helper is not heard\n")
    (folder / task).write_text(str(os.getpid()))


def ended(pid: int) -> bool:
    """True once a process is gone, or only its parent has not heard of its end."""
    until = time.monotonic() + LONG_S / 4
    while time.monotonic() < until:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.05)
    return False
