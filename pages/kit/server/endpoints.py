"""The addresses of the server's own that a browser needs; all others are closed.

Streamlit also answers at addresses that are meant for whoever runs a server: how many sessions there are
and were, how much memory each cache takes, an interface for programs. A visitor needs none of them. So a
list says what is open, and what a later Streamlit adds is closed until the list names it.
"""

from pages.kit.server.hosts import App, Receive, Scope, Send

OWN = "_stcore"
"""The folder of all such addresses, wherever the app lies."""
OPEN = {"health", "host-config", "stream", "upload_file", "bidi-components"}
"""Is it there, may another page frame it, the messages of a session, uploads, and files of components."""
NOT_FOUND = b"Not Found"


class OpenEndpoints:
    """ASGI middleware that answers 404 at every address of the server's own that no browser needs."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and is_closed(scope["path"]):
            plain = [(b"content-type", b"text/plain; charset=utf-8")]
            await send({"type": "http.response.start", "status": 404, "headers": plain})
            await send({"type": "http.response.body", "body": NOT_FOUND})
        else:
            await self._app(scope, receive, send)


def is_closed(path: str) -> bool:
    """True if an address is the server's own and no browser needs it."""
    parts = [part for part in path.lower().split("/") if part not in ("", ".")]
    return OWN in parts and parts[parts.index(OWN) + 1 :][:1] not in ([name] for name in OPEN)
