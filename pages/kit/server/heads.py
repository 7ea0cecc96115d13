"""The head of the served page: a pasted link shows the page's question, finding and picture.

`assets/previews` has a card of each page, 1200 × 630 pixels, and the findings on them. `python -m
tests.browser.previews` draws them.
"""

import json
from functools import lru_cache
from html import escape
from pathlib import PurePosixPath

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import FileResponse
from starlette.types import Message, Receive, Scope, Send

from kernels.paths import ASSETS, TOP
from pages.kit.server.middleware import Layer
from pages.kit.story import APP_NAME, question
from pages.kit.terms.explain import glossary

PREVIEWS = ASSETS / "previews"
FINDINGS = PREVIEWS / "findings.json"
SCRIPTS = (TOP / "pages/kit/look/page.js", TOP / "pages/kit/terms/words.js")
FOLDER = "previews"
"""The folder of the cards in an address, below the app's own."""
START = "start"
WIDTH, HEIGHT = 1200, 630
_TITLE = b"<title>Streamlit</title>"
_DAY_S = 24 * 3600


@lru_cache(maxsize=1)
def findings() -> dict[str, str]:
    return {} if not FINDINGS.exists() else json.loads(FINDINGS.read_text(encoding="utf-8"))


def head(page: str, folder: str) -> str:
    """Write a page's title, description and card as HTML. `folder`: the app's absolute address."""
    title = question(f"pages/{page}.py")
    finding = findings().get(page, title)
    address = folder + ("" if page == START else page)
    properties = {
        "og:type": "website",
        "og:site_name": APP_NAME,
        "og:title": title,
        "og:description": finding,
        "og:url": address,
        "og:image": f"{folder}{FOLDER}/{page}.png",
        "og:image:width": str(WIDTH),
        "og:image:height": str(HEIGHT),
        "og:image:alt": finding,
    }
    meta = {"description": finding, "twitter:card": "summary_large_image"}
    lines = [f"<title>{escape(title)} · {APP_NAME}</title>"]
    lines += [f'<meta property="{key}" content="{escape(value)}" />' for key, value in properties.items()]
    lines += [f'<meta name="{key}" content="{escape(value)}" />' for key, value in meta.items()]
    lines += [f'<script type="module">{_script()}</script>']
    return "\n    ".join(lines)


@lru_cache(maxsize=1)
def _script() -> str:
    terms = json.dumps([[term.every_name, term.says] for term in glossary().values() if term.in_text])
    return f"const PAGES = {json.dumps([*findings()])}, TERMS = {terms};\n" + "\n".join(
        path.read_text(encoding="utf-8") for path in SCRIPTS
    )


class Heads(Layer):
    """ASGI middleware that gives each page its own head, and serves the cards."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        folder, _, name = scope["path"].rpartition("/")
        page = PurePosixPath(name).stem
        if folder.endswith(f"/{FOLDER}") and name == f"{page}.png" and page in findings():
            card = FileResponse(PREVIEWS / name, headers={"cache-control": f"public, max-age={_DAY_S}"})
            await card(scope, receive, send)
            return
        page = name if name in findings() else START
        # Streamlit may answer with a file packed, or with "not modified": its head is not ours.
        unwanted = (b"accept-encoding", b"if-none-match", b"if-modified-since")
        headers = [pair for pair in scope["headers"] if pair[0] not in unwanted]
        plain = {**scope, "headers": headers} if "." not in name else scope
        await self._app(plain, receive, _Rewriter(send, head(page, f"{_origin(scope)}{folder}/")))


def _origin(scope: Scope) -> str:
    """Scheme and host that the reader used, also behind a proxy."""
    headers = Headers(scope=scope)
    scheme = headers.get("x-forwarded-proto", scope["scheme"])
    return f"{scheme if scheme in ('http', 'https') else 'http'}://{headers.get('host', '')}"


class _Rewriter:
    """Replace Streamlit's title in HTML by the page's head."""

    def __init__(self, send: Send, head: str) -> None:
        self._send, self._head = send, head.encode()
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        is_start = message["type"] == "http.response.start"
        if is_start and Headers(scope=message).get("content-type", "").startswith("text/html"):
            self._start = message
        elif self._start is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body"):
                await self._finish(self._start)

    async def _finish(self, start: Message) -> None:
        body = self._body.replace(_TITLE, self._head, 1)
        headers = MutableHeaders(scope=start)
        if body:
            headers["content-length"] = str(len(body))
        del headers["etag"], headers["last-modified"]
        await self._send(start)
        await self._send({"type": "http.response.body", "body": body})
