"""A limit on the files that one session keeps here.

Streamlit limits the size of a file, and keeps every file of a session in memory until the session ends. A
program could send one after the other.
"""

from collections import OrderedDict

from pages.kit.server.endpoints import OWN
from pages.kit.server.hosts import App, Receive, Scope, Send

MOST = 4
"""The page has one place for a file. While it is replaced, the browser sends the new one first."""
SESSIONS_KNOWN = 1000
REFUSAL = f"A session keeps {MOST} files at most. Remove one first.\n".encode()
TOO_LARGE = 413


class FewUploads:
    """ASGI middleware that refuses a file of a session which keeps `MOST` already."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._files: OrderedDict[str, set[str]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        upload = _upload(scope["path"]) if scope["type"] == "http" else None
        match scope.get("method"), upload:
            case "PUT", (session, file):
                await self._put(session, file, (scope, receive, send))
            case "DELETE", (session, file):
                await self._app(scope, receive, send)
                self._files.get(session, set()).discard(file)
            case _:
                await self._app(scope, receive, send)

    async def _put(self, session: str, file: str, request: tuple[Scope, Receive, Send]) -> None:
        scope, receive, send = request
        files = self._files.setdefault(session, set())
        self._files.move_to_end(session)
        while len(self._files) > SESSIONS_KNOWN:
            self._files.popitem(last=False)
        if file not in files and len(files) >= MOST:
            plain = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
            await send({"type": "http.response.start", "status": TOO_LARGE, "headers": plain})
            await send({"type": "http.response.body", "body": REFUSAL})
            return
        files.add(file)  # counted before it has come: files that come at the same time count, too

        async def seen(message: Scope) -> None:
            if message["type"] == "http.response.start" and message["status"] >= 300:
                files.discard(file)
            await send(message)

        await self._app(scope, receive, seen)


def _upload(path: str) -> tuple[str, str] | None:
    """The session and the file that an address names; None for other addresses."""
    match path.split("/")[-4:]:
        case [own, "upload_file", session, file] if own == OWN:
            return session, file
    return None
