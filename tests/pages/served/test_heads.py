"""A pasted link shows the page's question, its finding and its card; everything else passes unchanged."""

import asyncio
import re
from html import unescape

import pytest
from PIL import Image

from kernels.paths import TOP
from pages.kit.server import heads
from pages.kit.server.heads import HEIGHT, PREVIEWS, START, WIDTH, Heads, findings
from pages.kit.story import APP_NAME, question
from tests.asynchronous import complete

HTML = b"<html><head><title>Streamlit</title></head></html>"
PAGES = sorted(path.stem for path in (TOP / "pages").glob("*.py"))
CARD_BYTES = 150_000


def asked(path: str, *, method: str = "GET", kind: bytes = b"text/html; charset=utf-8", body=HTML, **headers):
    """The answer that a browser gets for a path, and the headers of the request that Streamlit saw."""
    sent, seen = [], []

    async def streamlit(scope, _receive, send) -> None:
        seen.extend(name for name, _ in scope["headers"])
        given = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), (b"etag", b"1")]
        await send({"type": "http.response.start", "status": 200, "headers": given})
        half = len(body) // 2
        await send({"type": "http.response.body", "body": body[:half], "more_body": True})
        await send({"type": "http.response.body", "body": body[half:]})

    async def send(message) -> None:
        sent.append(message)

    request = {"host": "10.0.0.7:8501", "accept-encoding": "gzip", "if-none-match": "1"} | headers
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "scheme": "http",
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in request.items()],
    }
    complete(Heads(streamlit)(scope, asyncio.Event().wait, send))
    answer = b"".join(message.get("body", b"") for message in sent)
    return answer, dict(sent[0]["headers"]), seen


@pytest.mark.parametrize("page", PAGES)
def test_each_page_has_its_question_its_finding_and_its_card(page):
    body, headers, seen = asked(f"/class/{'' if page == START else page}", x_forwarded_proto="https")
    found = re.findall(r'<meta property="(og:[a-z:]+)" content="([^"]*)"', body.decode())
    properties = {name: unescape(value) for name, value in found}
    assert f"<title>{question(f'pages/{page}.py')} · {APP_NAME}</title>" in unescape(body.decode())
    assert properties["og:title"] == question(f"pages/{page}.py")
    assert properties["og:description"] == findings()[page]
    assert properties["og:image"] == f"https://10.0.0.7:8501/class/previews/{page}.png"
    assert int(headers[b"content-length"]) == len(body)
    assert b"etag" not in headers
    assert not {b"accept-encoding", b"if-none-match"} & set(seen)
    picture, kind, _ = asked(f"/class/previews/{page}.png")
    assert picture == (PREVIEWS / f"{page}.png").read_bytes()
    assert kind[b"content-type"] == b"image/png"
    with Image.open(PREVIEWS / f"{page}.png") as card:
        assert card.size == (WIDTH, HEIGHT)
    assert len(picture) < CARD_BYTES


@pytest.mark.parametrize("path", ["/nothing", "/previews/nothing.png", "/previews/../start.png", "/"])
def test_an_address_without_a_page_has_the_first_pages_head(path):
    body, _, _ = asked(path)
    assert question(f"pages/{START}.py") in unescape(body.decode())


def test_what_is_no_page_passes_unchanged_and_packed():
    body, headers, seen = asked("/static/index.js", kind=b"text/javascript", body=b"<title>Streamlit</title>")
    assert body == b"<title>Streamlit</title>"
    assert headers[b"etag"] == b"1"
    assert b"accept-encoding" in seen


def test_a_strange_host_and_finding_stay_text(monkeypatch):
    monkeypatch.setattr(heads, "findings", lambda: {"formats": '"><script>'})
    body, _, _ = asked("/formats", host='a"><script>', x_forwarded_proto="javascript")
    assert b"<script>" not in body
    assert b'content="http://a&quot;' in body


def test_the_head_alone_is_as_long_as_its_page():
    _, headers, _ = asked("/formats", method="HEAD", body=b"")
    assert headers[b"content-length"] == b"0"
    picture, headers, _ = asked("/previews/formats.png", method="HEAD")
    assert picture == b""
    assert int(headers[b"content-length"]) == (PREVIEWS / "formats.png").stat().st_size
