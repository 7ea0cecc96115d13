"""A real Streamlit server in a process of its own, for a browser or a websocket to talk to."""

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError

TOP = Path(__file__).resolve().parents[1]
START_SECONDS = 60


@dataclass(frozen=True)
class Server:
    """A running app: its address and its process."""

    url: str
    process: subprocess.Popen


@contextmanager
def serving(*options: str, script: str = "app.py") -> Iterator[Server]:
    """A server on a free port; `script` is a path from the top folder."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", script, "--server.port", str(port)]
    process = subprocess.Popen(
        [*command, "--server.address", "127.0.0.1", *options],
        cwd=TOP,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_until_up(url, process)
        yield Server(url, process)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_up(url: str, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, f"the server ended with {process.returncode}"
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2) as answer:
                if answer.status == 200:
                    return
        except (URLError, TimeoutError, ConnectionError):
            time.sleep(0.1)
    raise AssertionError(f"no server at {url} after {START_SECONDS} s")
