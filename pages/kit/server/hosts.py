"""Access to the server, decided before Streamlit sees the request.

A foreign page in the reader's browser can send requests here in two ways. It can call this server from its
own address: then Origin names that page. Or somebody makes its name lead here ("DNS rebinding"): then both
Host and Origin name it. Streamlit by itself answers the second. For the first it asks two servers on the
internet for its own address.

So Host must be an IP address (no name leads to it), this computer's name, or a name in the environment's
FP8_EXPLORER_NAMES, which `make app NAMES=…` sets. Origin, where there is one, must be the address of the
request, or this computer.
"""

import ipaddress
import os
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import urlsplit

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOCAL = "localhost"
NAMES = "FP8_EXPLORER_NAMES"
REFUSAL = (
    "FP8 Explorer does not answer to this name. Open it by the server's IP address, or ask the person who "
    'started it to allow the name: make app HOST=0.0.0.0 NAMES="fp8.example.org".\n'
)


class KnownHosts:
    """ASGI middleware that answers 403 to a foreign Host or Origin, for pages and websockets."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
            if not is_known(headers.get(b"host", ""), headers.get(b"origin"), allowed_names()):
                await _refuse(scope, receive, send)
                return
        await self._app(scope, receive, send)


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        plain = [(b"content-type", b"text/plain; charset=utf-8")]
        await send({"type": "http.response.start", "status": 403, "headers": plain})
        await send({"type": "http.response.body", "body": REFUSAL.encode()})
    else:  # closed before it was accepted: the browser sees a 403
        await receive()
        await send({"type": "websocket.close"})


def allowed_names(environment: Mapping[str, str] = os.environ) -> set[str]:
    """This computer's name, and the names that were allowed when the server was started."""
    own = socket.gethostname()
    return {name.lower() for name in (LOCAL, own, f"{own}.local", *environment.get(NAMES, "").split())}


def is_known(host: str, origin: str | None, names: set[str]) -> bool:
    """True if the server may answer a request to `host`, sent by a page of `origin`."""
    asked = _name(f"//{host}")
    if asked is None or not (_is_ip(asked) or asked in names):
        return False
    if origin is None or urlsplit(origin).netloc.lower() == host.lower():
        return True
    return _name(origin) in (LOCAL, "127.0.0.1")


def _name(url: str) -> str | None:
    """The name or number that a URL leads to, in lower case; None where it is malformed."""
    try:
        parts = urlsplit(url)
        malformed = parts.username is not None or parts.path or parts.query or parts.fragment
        _ = parts.port
    except ValueError:
        return None
    return None if malformed or not parts.hostname else parts.hostname.rstrip(".")


def _is_ip(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
