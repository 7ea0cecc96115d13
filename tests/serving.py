"""A real Streamlit server in a process of its own, for a browser or a websocket to talk to."""

import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError

from pages.kit.classroom.store import CLASS_FILE
from pages.kit.server.lifespan import FIRST_READER

TOP = Path(__file__).resolve().parents[1]
START_SECONDS = 60
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==",
    "Sec-WebSocket-Protocol": "streamlit",
}
"""Headers that ask for a session's websocket."""


@dataclass(frozen=True)
class Server:
    """A running app: its address, its process, and the file of what it printed."""

    url: str
    process: subprocess.Popen
    printed: Path

    @property
    def token(self) -> str:
        """The teacher's, as the server printed it."""
        return re.search(r"enter this token: (\S+)", self.printed.read_text(encoding="utf-8"))[1]


@contextmanager
def serving(
    *options: str,
    script: str = "app.py",
    tree: Path = TOP,
    base: str = "",
    module: str = "streamlit",
    environment: Mapping[str, str] | None = None,
) -> Iterator[Server]:
    """A server on a free port, which runs `script` of the checkout `tree` and answers at the path `base`.

    `module` stands in for Streamlit's own program. The server starts without its first reader, unless the
    environment asks for it. Its class has a file of its own, unless the environment names one.
    """
    port = free_port()
    command = [sys.executable, "-m", module, "run", script, "--server.port", str(port)]
    options = (*options, "--server.baseUrlPath", base) if base else options
    folder = tempfile.TemporaryDirectory()
    own = {FIRST_READER: "no", CLASS_FILE: str(Path(folder.name) / "class.sqlite")}
    printed = Path(folder.name) / "printed"
    with printed.open("wb") as terminal:
        process = subprocess.Popen(
            [*command, "--server.address", "127.0.0.1", *options],
            cwd=tree,
            env=os.environ | own | dict(environment or {}),
            stdout=terminal,
            stderr=subprocess.DEVNULL,
        )
    try:
        url = f"http://127.0.0.1:{port}/{base}".rstrip("/")
        _wait_until_up(url, process)
        yield Server(url, process, printed)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        folder.cleanup()


def free_port() -> int:
    """A port of this computer that nobody has."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


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
