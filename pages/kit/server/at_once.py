"""Sockets that send at once.

By default, TCP keeps a small message back until the other side has confirmed the one before it. The other
side waits up to 40 ms before it confirms, and a page is many small messages. Python's event loop turns that
off only for sockets that were made with the protocol's number, and Streamlit makes its own without.
"""

import socket

from pages.kit.server.hosts import App, Receive, Scope, Send


class AtOnce:
    """ASGI middleware: each connection sends its messages at once. It must be the first one.

    ASGI itself does not say which socket a message comes from. Uvicorn's `receive` is a method of an object
    that has the connection.
    """

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        transport = getattr(getattr(receive, "__self__", None), "transport", None)
        if transport is not None:
            connection = transport.get_extra_info("socket")
            if connection.family in (socket.AF_INET, socket.AF_INET6):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        await self._app(scope, receive, send)
