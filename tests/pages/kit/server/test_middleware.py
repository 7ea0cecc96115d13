"""Contract: a browser gets one random id, at the app's own path, which no script reads."""

import pytest
import streamlit as st

from pages.kit.classroom.shared import COOKIE, is_well_formed
from pages.kit.server.middleware import Visitors
from tests.asynchronous import complete


def cookies(path: str = "/formats", status: int = 200, scheme: str = "http", **headers: str) -> list[str]:
    """Cookies of the answer to a request with these headers."""
    messages: list[dict] = []

    async def page(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": status, "headers": [(b"x", b"y")]})
        await send({"type": "http.response.body", "body": b""})

    async def send(message) -> None:
        messages.append(message)

    request = {"accept": "text/html,*/*", **headers}
    raw = [(name.encode(), text.encode()) for name, text in request.items()]
    scope = {"type": "http", "path": path, "scheme": scheme, "method": "GET", "headers": raw}
    complete(Visitors(page)(scope, None, send))
    assert (b"x", b"y") in messages[0]["headers"]
    return [text.decode() for name, text in messages[0]["headers"] if name == b"set-cookie"]


def test_the_first_page_sets_a_random_id():
    first, second = cookies()[0], cookies()[0]
    assert first.startswith(f"{COOKIE}=")
    assert is_well_formed(first.split(";")[0].removeprefix(f"{COOKIE}="))
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(first.split("; "))
    assert "Secure" not in first
    assert first != second
    assert "Secure" in cookies(scheme="https")[0]


@pytest.mark.parametrize("base", ["explorer", "/explorer/"])
def test_the_cookie_stays_at_the_apps_path(base, monkeypatch):
    monkeypatch.setattr(st, "get_option", lambda name: base)
    assert "Path=/explorer;" in cookies()[0]


@pytest.mark.parametrize("value", ["", "x" * 32, "a" * 31, '"', "\x00", f"{'a' * 32}%00"])
def test_an_odd_cookie_is_replaced(value):
    assert len(cookies(cookie=f"other=1; {COOKIE}={value}; ;=;")) == 1


def test_a_known_browser_a_script_and_a_refusal_get_none():
    assert cookies(cookie=f"a=b; {COOKIE}={'0a' * 16}") == []
    assert cookies(accept="*/*") == []
    assert cookies(status=403) == []
