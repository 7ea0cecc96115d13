"""Contract: a server asks nobody in the internet, and answers no page of somebody else."""

import http.client
import json
import re
import socket
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import streamlit

from pages.kit.server import start
from pages.kit.server.middleware import NAMES, NOT_FOUND, OPEN, OWN, allowed_names, is_known
from tests.pages.gemm_rows import TOP
from tests.serving import UPGRADE, serving

# Python's sitecustomize: every connection to elsewhere is written down and refused. For every message that
# is sent, it writes down whether TCP may keep it back.
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
    def send(self, data, *flags):
        if self.family == socket.AF_INET:
            with open(os.environ["ASKED"] + " at once", "a") as file:
                file.write(f"{bool(self.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))}\\n")
        return super().send(data, *flags)
find = socket.getaddrinfo
def getaddrinfo(host, *rest, **more):
    told(host)
    return find(host, *rest, **more)
socket.socket, socket.getaddrinfo = Socket, getaddrinfo
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[tuple[int, Path]]:
    """A server that was started for a classroom: its port, and the file of those it asked."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "sitecustomize.py").write_text(LOGGED)
    asked = folder / "asked"
    environment = {"PYTHONPATH": str(folder), "ASKED": str(asked), NAMES: "fp8.school.example other"}
    with serving("--server.address", "0.0.0.0", environment=environment) as server:
        yield int(server.url.rpartition(":")[2]), asked


def answer(port: int, path: str, **headers: str) -> tuple[int, bytes]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request("GET", path, headers=headers)
        came = connection.getresponse()
        return came.status, b"" if came.status == 101 else came.read()


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
    status, _ = answer(port, path, **headers, **(UPGRADE if is_socket else {}))
    assert status == ((101 if is_socket else 200) if answered else 403)
    assert not asked.exists(), asked.read_text()


@pytest.mark.parametrize("headers", [{}, UPGRADE], ids=["a file", "a websocket"])
def test_no_message_waits_for_the_other_side_to_confirm_the_one_before(served, headers):
    port, asked = served
    at_once = asked.with_name(f"{asked.name} at once")
    at_once.unlink(missing_ok=True)
    answer(port, "/_stcore/stream" if headers else "/_stcore/health", **headers)
    assert set(at_once.read_text().split()) == {"True"}


CLOSED = """
/_stcore/metrics /_stcore/metrics?families=cache_memory_bytes /_stcore/metrics/ /_stcore/./metrics
/_STCORE/metrics /%5Fstcore/metrics //_stcore//metrics /base/_stcore/metrics /_stcore
/_stcore/script-health-check /_stcore/agent/mcp /_stcore/what-a-later-streamlit-adds
"""


@pytest.mark.parametrize("path", CLOSED.split())
def test_what_only_the_one_who_runs_the_server_needs_is_closed(served, path):
    port, _ = served
    assert answer(port, path) == (404, NOT_FOUND)


def test_every_address_that_the_browser_asks_for_is_open():
    scripts = (Path(streamlit.__file__).parent / "static" / "static" / "js").glob("*.js")
    named = {name for file in scripts for name in re.findall(rf"{OWN}/([\w-]+)", file.read_text())}
    assert named == OPEN


def test_no_other_server_may_steer_a_page_that_it_frames(served):
    port, _ = served
    assert json.loads(answer(port, "/_stcore/host-config")[1])["allowedOrigins"] == []


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
    assert start.main(["localhost", port, ""]) == 1
    told = capsys.readouterr().err
    assert told.startswith("PORT=")
    assert "from 1 to 65535 is needed. Try: make app PORT=8501" in told


def test_a_taken_port_names_the_cure(capsys):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert start.main(["127.0.0.1", str(port), ""]) == 1
        told = capsys.readouterr().err
        assert f"Port {port} is taken" in told
        assert "make app PORT=" in told
    for base, end in (("", ""), ("explorer", "/explorer"), ("/explorer/", "/explorer")):
        assert start.main(["127.0.0.1", str(port), base]) == 0
        assert f"http://127.0.0.1:{port}{end} " in capsys.readouterr().out


def test_an_address_of_another_computer_is_told(capsys):
    assert start.main(["192.0.2.1", "8501", ""]) == 1
    assert "is no address of this computer" in capsys.readouterr().err
