"""Contract: a server asks nobody in the internet, and answers no page of somebody else."""

import http.client
import os
import socket
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from pages.kit import start
from pages.kit.hosts import NAMES, allowed_names, is_known
from tests.pages.gemm_rows import TOP

START_S = 60
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==",
    "Sec-WebSocket-Protocol": "streamlit",
}
LOGGED = """
import os, socket
def told(host):
    if host not in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "::", None):
        with open(os.environ["ASKED"], "a") as file:
            file.write(f"{host}\\n")
        raise OSError(f"blocked: {host}")
class Socket(socket.socket):
    def connect(self, address):
        told(address[0] if isinstance(address, tuple) else None)
        return super().connect(address)
find = socket.getaddrinfo
def getaddrinfo(host, *rest, **more):
    told(host)
    return find(host, *rest, **more)
socket.socket, socket.getaddrinfo = Socket, getaddrinfo
"""
"""Python's sitecustomize: every connection to elsewhere is written down and refused."""


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> tuple[int, Path]:
    """A server that was started for a classroom: its port, and the file of those it asked."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "sitecustomize.py").write_text(LOGGED)
    asked = folder / "asked"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--server.port", str(port), "--server.address", "0.0.0.0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", "app.py", *options],
        cwd=TOP,
        env=os.environ | {"PYTHONPATH": str(folder), "ASKED": str(asked), NAMES: "fp8.school.example other"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + START_S
        while True:
            assert process.poll() is None, f"the server ended with {process.returncode}"
            assert time.monotonic() < deadline, "the server never answered"
            try:
                status(port, "/_stcore/health")
                break
            except OSError:
                time.sleep(0.1)
        yield port, asked
    finally:
        process.terminate()
        process.wait(20)


def status(port: int, path: str, **headers: str) -> int:
    """The HTTP status of a request; 101 opens a websocket."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path, headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("host", "origin", "answered"),
    [
        ("127.0.0.1:{}", None, True),
        ("localhost:{}", "http://localhost:{}", True),
        ("192.168.1.7:{}", "http://192.168.1.7:{}", True),
        ("fp8.school.example", "https://fp8.school.example", True),
        ("evil.example:{}", "http://evil.example:{}", False),
        ("evil.example", None, False),
        ("localhost:{}", "http://evil.example", False),
        ("127.0.0.1:{}", "null", False),
    ],
)
@pytest.mark.parametrize("path", ["/formats", "/_stcore/health", "/_stcore/stream"])
def test_foreign_pages_are_refused_and_nobody_in_the_internet_is_asked(served, path, host, origin, answered):
    port, asked = served
    headers = {"Host": host.format(port)} | ({"Origin": origin.format(port)} if origin else {})
    is_socket = path.endswith("stream")
    given = status(port, path, **headers, **(UPGRADE if is_socket else {}))
    assert given == ((101 if is_socket else 200) if answered else 403)
    assert not asked.exists(), asked.read_text()


def test_the_log_of_connections_would_see_one(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(LOGGED)
    asks = "import contextlib, requests\nwith contextlib.suppress(OSError): requests.get('http://a.example')"
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "ASKED": str(tmp_path / "asked")}
    subprocess.run([sys.executable, "-c", asks], env=environment, check=True)
    assert "a.example" in (tmp_path / "asked").read_text()


def test_without_options_only_this_computer_is_answered():
    settings = tomllib.loads((TOP / ".streamlit" / "config.toml").read_text())
    assert settings["server"]["address"] == settings["browser"]["serverAddress"] == "localhost"


@pytest.mark.parametrize(
    "host", ["", "a b", "evil@localhost", "localhost/x", "localhost:x", "[::1", "localhost.evil"]
)
def test_a_malformed_host_is_refused(host):
    assert not is_known(host, None, allowed_names({}))


def test_names_are_those_of_this_computer_and_those_allowed():
    names = allowed_names({NAMES: "  A.example b.example"})
    assert {"localhost", "a.example", "b.example", socket.gethostname().lower()} <= names
    assert is_known("A.Example.:8501", "http://a.example.:8501", names)
    assert is_known("[::1]:8501", "http://[::1]:8501", names)


@pytest.mark.parametrize("port", ["80000", "0", "-1", "", "8501x", "٣", "9" * 5000])
def test_a_port_that_is_none_is_told_in_a_sentence(port, capsys):
    assert start.main(["localhost", port]) == 1
    told = capsys.readouterr().err
    assert told.startswith("PORT=")
    assert "from 1 to 65535 is needed. Try: make app PORT=8501" in told


def test_a_taken_port_names_the_cure(capsys):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert start.main(["127.0.0.1", str(port)]) == 1
        told = capsys.readouterr().err
        assert f"Port {port} is taken" in told
        assert "make app PORT=" in told
    assert start.main(["127.0.0.1", str(port)]) == 0
    assert f"http://127.0.0.1:{port} " in capsys.readouterr().out


def test_an_address_of_another_computer_is_told(capsys):
    assert start.main(["192.0.2.1", "8501"]) == 1
    assert "is no address of this computer" in capsys.readouterr().err


def test_make_checks_the_address_before_it_starts():
    app = (TOP / "Makefile").read_text().split("\napp:")[1].split("\n\n")[0]
    assert app.index('pages.kit.start "$(HOST)" "$(PORT)"') < app.index("streamlit run app.py")
    assert f'{NAMES}="$(NAMES)"' in app
