"""A cookie for each browser: a random id, by which a class knows its answers after a reload."""

from http import HTTPStatus

import streamlit as st
from starlette.requests import HTTPConnection

from pages.kit.classroom.visitor import COOKIE, is_well_formed, new_visitor
from pages.kit.server.hosts import App, Receive, Scope, Send

KEPT_S = 90 * 24 * 3600
"""Seconds that a browser keeps it: a course takes weeks."""


class Visitors:
    """ASGI middleware that gives a browser its id with the first page, and never another."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _is_page_without_id(HTTPConnection(scope)):
            await self._app(scope, receive, send)
            return

        async def with_cookie(message: Scope) -> None:
            if message["type"] == "http.response.start" and message["status"] < HTTPStatus.BAD_REQUEST:
                cookie = (b"set-cookie", _cookie(new_visitor(), scope["scheme"] == "https").encode())
                message = {**message, "headers": [*message.get("headers", ()), cookie]}
            await send(message)

        await self._app(scope, receive, with_cookie)


def _is_page_without_id(request: HTTPConnection) -> bool:
    """True if a browser asks for a page, not for a script or a picture of it, and sends no id."""
    is_page = "text/html" in request.headers.get("accept", "")
    return is_page and not is_well_formed(request.cookies.get(COOKIE, ""))


def _cookie(visitor: str, is_encrypted: bool) -> str:
    """The header. No script of a page can read the cookie, and no other server's page sends it along."""
    path = "/" + (st.get_option("server.baseUrlPath") or "").strip("/")
    end = "; Secure" if is_encrypted else ""
    return f"{COOKIE}={visitor}; Path={path}; Max-Age={KEPT_S}; HttpOnly; SameSite=Lax{end}"
