"""Codes for the pool of tests. Importing this needs no torch, so that a process is there at once."""

import os
import sys
import time
from pathlib import Path
from signal import SIGKILL

LONG_S = 60.0


def note(folder: Path, name: str) -> str:
    """ "die" ends the process, "fail" raises, "hang" waits; all leave a file with the process."""
    (folder / name).write_text(str(os.getpid()))
    if name == "die":
        os.kill(os.getpid(), SIGKILL)
    if name == "fail":
        raise RuntimeError("no\nmore")
    if name == "hang":
        time.sleep(10 * LONG_S)
    sys.stderr.write("a process of the pool is not heard\n")
    return "it is odd" if name == "odd" else ""
