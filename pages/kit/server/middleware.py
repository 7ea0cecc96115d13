"""Layers before Streamlit: allowed hosts and endpoints, prompt sending, and the visitor's cookie.

A foreign page in the reader's browser can send requests from its own address (Origin names it), or after DNS
rebinding (Host and Origin name it). Streamlit by itself answers the second; for the first it asks two servers
on the internet for its own address.

So Host must be an IP address, this computer's name, or a name in FP8_EXPLORER_NAMES (`make app NAMES=…`).
Origin, if sent, must be the request's address or this computer.
"""

import ipaddress
import os
import socket
from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import urlsplit

import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pages.kit.classroom.shared import COOKIE, is_well_formed, new_visitor

LOCAL = "localhost"
NAMES = "FP8_EXPLORER_NAMES"
REFUSAL = (
    "FP8 Explorer does not answer to this name. Open it by the server's IP address, or ask the person who "
    'started it to allow the name: make app HOST=0.0.0.0 NAMES="fp8.example.org".\n'
)


class Layer:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app


class KnownHosts(Layer):
    """ASGI middleware that answers 403 to a foreign Host or Origin, for pages and websockets."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            headers = HTTPConnection(scope).headers
            if not is_known(headers.get("host", ""), headers.get("origin"), allowed_names()):
                await PlainTextResponse(REFUSAL, HTTPStatus.FORBIDDEN)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def allowed_names(environment: Mapping[str, str] = os.environ) -> set[str]:
    own = socket.gethostname()
    return {name.lower() for name in (LOCAL, own, f"{own}.local", *environment.get(NAMES, "").split())}


def is_known(host: str, origin: str | None, names: set[str]) -> bool:
    """Return True if the server may answer a request to `host` from a page of `origin`."""
    name = _name(f"//{host}")
    if name is None or not (_is_ip(name) or name in names):
        return False
    if origin is None or urlsplit(origin).netloc.lower() == host.lower():
        return True
    return _name(origin) in (LOCAL, "127.0.0.1")


def _name(url: str) -> str | None:
    """Host of a URL in lower case; None if malformed."""
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


class AtOnce(Layer):
    """ASGI middleware that turns on TCP_NODELAY. It must be the first one.

    Uvicorn's `receive` is a method of an object with the connection; ASGI itself does not name it.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        transport = getattr(getattr(receive, "__self__", None), "transport", None)
        if transport is not None:
            connection = transport.get_extra_info("socket")
            if connection.family in (socket.AF_INET, socket.AF_INET6):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        await self._app(scope, receive, send)


OWN = "_stcore"  # the folder of all such addresses, wherever the app lies
# Is it there, may another page frame it, the messages of a session, uploads, and files of components
OPEN = {"health", "host-config", "stream", "upload_file", "bidi-components"}
NOT_FOUND = b"Not Found"


class OpenEndpoints(Layer):
    """ASGI middleware that answers 404 at addresses of the server that no browser needs."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            parts = [part for part in scope["path"].lower().split("/") if part not in ("", ".")]
            if OWN in parts and not OPEN & {*parts[parts.index(OWN) + 1 :][:1]}:
                await PlainTextResponse(NOT_FOUND, HTTPStatus.NOT_FOUND)(scope, receive, send)
                return
        await self._app(scope, receive, send)


KEPT_S = 90 * 24 * 3600  # seconds that a browser keeps it: a course takes weeks


class Visitors(Layer):
    """ASGI middleware that gives a browser an id with its first page, once."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _is_page_without_id(HTTPConnection(scope)):
            await self._app(scope, receive, send)
            return

        async def with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < HTTPStatus.BAD_REQUEST:
                cookie = _cookie(new_visitor(), scope["scheme"] == "https")
                MutableHeaders(scope=message).append("set-cookie", cookie)
            await send(message)

        await self._app(scope, receive, with_cookie)


def _is_page_without_id(request: HTTPConnection) -> bool:
    is_page = "text/html" in request.headers.get("accept", "")
    return is_page and not is_well_formed(request.cookies.get(COOKIE, ""))


def _cookie(visitor: str, is_encrypted: bool) -> str:
    """Header of a cookie that no script reads, and no other server's page sends along."""
    path = "/" + (st.get_option("server.baseUrlPath") or "").strip("/")
    end = "; Secure" if is_encrypted else ""
    return f"{COOKIE}={visitor}; Path={path}; Max-Age={KEPT_S}; HttpOnly; SameSite=Lax{end}"
