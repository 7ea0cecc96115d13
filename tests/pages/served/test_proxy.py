"""Contract: nginx with the configuration that ships answers at a path of a name, and nobody else."""

import http.client
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest

from pages.kit.server.middleware import NAMES
from tests.asynchronous import complete
from tests.load.session import opened
from tests.serving import TOP, free_port, serving

SHIPPED = (TOP / ".streamlit" / "nginx.conf").read_text()
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/sbin:/bin")
NAME, BASE = "fp8.example.org", "explorer"
START_S = 10
AROUND = """
daemon off; pid nginx.pid; error_log stderr error; worker_processes 1;
events {}
http {
    access_log off;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u;
    scgi_temp_path s;
    include site.conf;
}
"""

pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed: apt-get install nginx-light")


@dataclass(frozen=True)
class Proxy:
    """nginx: its port, and the address of the app behind it."""

    port: int
    behind: str

    def answer(self, path: str, host: str, **headers: str) -> tuple[int, str | None]:
        """The status of a request to a name, and where it leads to; 0 where no answer comes."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)) as connection:
            connection.request("GET", path, headers={"Host": host} | headers)
            try:
                came = connection.getresponse()
            except http.client.RemoteDisconnected:
                return 0, None
            return came.status, came.headers["Location"]


@pytest.fixture(scope="module")
def proxy(tmp_path_factory) -> Iterator[Proxy]:
    """The app at a path, behind nginx; only the ports differ from the configuration that ships."""
    folder, port = tmp_path_factory.mktemp("nginx"), free_port()
    with serving(base=BASE, environment={NAMES: NAME}) as server:
        behind = re.search(r"//([\d.]+:\d+)/", server.url + "/")[1]
        site = SHIPPED.replace("server 127.0.0.1:8501;", f"server {behind};")
        site = re.sub(r"listen 80\b", f"listen 127.0.0.1:{port}", site)
        assert site.count(behind) == 1
        assert site.count(f"listen 127.0.0.1:{port}") == 2
        (folder / "site.conf").write_text(site)
        (folder / "nginx.conf").write_text(AROUND)
        process = subprocess.Popen([NGINX, "-p", folder, "-c", "nginx.conf", "-e", "stderr"])
        try:
            made = Proxy(port, f"http://{behind}")
            _wait_until_up(made, process)
            yield made
        finally:
            process.terminate()
            process.wait(10)


def _wait_until_up(proxy: Proxy, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + START_S
    while True:
        assert process.poll() is None, f"nginx ended with {process.returncode}"
        assert time.monotonic() < deadline, "nginx never answered"
        try:
            proxy.answer("/", NAME)
            return
        except ConnectionRefusedError:
            time.sleep(0.02)


@pytest.mark.parametrize(
    ("path", "host", "status"),
    [
        (f"/{BASE}/", NAME, 200),
        (f"/{BASE}/formats?number=0.1", NAME, 200),
        (f"/{BASE}/_stcore/health", NAME, 200),
        (f"/{BASE}/_stcore/metrics", NAME, 404),
        ("/", NAME, 404),
        ("/_stcore/health", NAME, 404),
        (f"/{BASE}/", "evil.example", 0),
        (f"/{BASE}/", "127.0.0.1", 0),
    ],
)
def test_the_app_answers_at_its_path_and_its_name_only(proxy, path, host, status):
    assert proxy.answer(path, host)[0] == status


def test_the_path_without_its_slash_leads_to_the_app(proxy):
    host = f"{NAME}:{proxy.port}"
    assert proxy.answer(f"/{BASE}", host) == (301, f"http://{host}/{BASE}/")


def test_a_deep_link_with_controls_opens_a_session_through_the_proxy(proxy):
    async def visit() -> None:
        where = {"host": "127.0.0.1", "port": proxy.port}
        async with opened(f"http://{NAME}:{proxy.port}/{BASE}", "formats", **where) as session:
            await session.open("number=0.1")
            assert session.view.widgets["number"].value == "0.1"
            await session.change("number", "0.7")
            assert (session.view.query, session.view.exceptions) == ("number=0.7", [])

    complete(visit())
