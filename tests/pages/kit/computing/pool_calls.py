"""Functions that a process of the pool can import."""

import os
import signal
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Large:
    nbytes: int


def doubled(x: float) -> float:
    return 2 * x


def tagged(x: object) -> str:
    return f"{type(x).__name__} {x}"


def slept(seconds: float, tag: str) -> str:
    time.sleep(seconds)
    return tag


def held(path: str) -> str:
    """Keep the process until there is a file of this name."""
    while not Path(path).exists():
        time.sleep(0.01)
    return path


def logged(path: str, tag: str, seconds: float = 0.0) -> str:
    with Path(path).open("a") as file:
        file.write(f"{tag}\n")
    time.sleep(seconds)
    return tag


def refused(x: int) -> int:
    raise ValueError(f"x is at most 3, got {x}")


def broken() -> None:
    raise TypeError("a fault of the program")


def killed_once(path: str) -> str:
    """End the process the first time, as the system does where memory runs out."""
    if not Path(path).exists():
        Path(path).write_text("once")
        os.kill(os.getpid(), signal.SIGKILL)
    return "came back"


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def bytes_of(size: int) -> bytes:
    return bytes(size)


def process() -> tuple[int, int, str | None]:
    """This process: its number, its niceness, its threads for matrices."""
    return os.getpid(), os.nice(0), os.environ.get("OPENBLAS_NUM_THREADS")


def killed_in_sending(size: int) -> bytes:
    """A result so long that the process is killed before the pipe has all of it."""
    main = threading.main_thread().ident
    threading.Thread(target=_kill_when_sending, args=(main,), daemon=True).start()
    return bytes(size)


def _kill_when_sending(thread: int) -> None:
    while True:
        frame = sys._current_frames()[thread]
        while frame is not None:
            if frame.f_code.co_name == "_send":
                os.kill(os.getpid(), signal.SIGKILL)
            frame = frame.f_back
