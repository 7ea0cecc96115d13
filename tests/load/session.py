"""One session: a browser without a screen, that answers as Streamlit's JavaScript does.

async with opened(url, "accumulation") as session:
    took = await session.open()
    took = await session.change("seed", 4711)
    assert session.view.exceptions == []
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.load.view import News, View

PATIENCE_S = 90.0
NAME = "http://fp8.example"  # what every session says its address is, so that links on the page are equal


@dataclass(frozen=True)
class Took:
    """The seconds until the first answer, and until nothing more was to come."""

    first_s: float
    settled_s: float


@dataclass
class _Asked:
    """A question: when it was sent, and what must come for it to be answered."""

    sent: float
    fragment: str
    answered: asyncio.Future
    began: bool = False


@dataclass
class Session:
    socket: ClientConnection
    page: str
    view: View = field(default_factory=View)
    # True once the page shows more than its address tells: a button was pressed, or a slider in a chart was
    # moved. The chart then stays as it was drawn before.
    has_own_state: bool = False
    _asked: _Asked | None = None
    _rests: asyncio.Event = field(default_factory=asyncio.Event)
    _polling: dict[str, asyncio.Task] = field(default_factory=dict)

    async def open(self, query: str = "") -> Took:
        self.view.query = query
        return await self._ask(query_string=query)

    async def go(self, page: str) -> Took:
        self.page, self.view.query, self.has_own_state = page, "", False
        self.close()
        return await self._ask(page_script_hash=self.view.pages[page])

    async def change(self, key: str, value: Any) -> Took:
        widget = self.view.widgets[key]
        widget.value = value
        self.has_own_state = self.has_own_state or widget.kind == "vega_lite_chart"
        return await self._ask(fragment=widget.fragment)

    async def press(self, key: str) -> Took:
        button = self.view.button(key)
        self.has_own_state = True
        return await self._ask(fragment=button.fragment, pressed=button.id)

    async def _ask(self, *, fragment: str = "", **asked: str) -> Took:
        answered = asyncio.get_running_loop().create_future()
        self._asked = _Asked(time.perf_counter(), fragment, answered)
        self._rests.clear()
        await self._send(fragment_id=fragment, **asked)
        async with asyncio.timeout(PATIENCE_S):
            first = await answered
            await self._rests.wait()
        return Took(first - self._asked.sent, time.perf_counter() - self._asked.sent)

    async def _send(self, *, pressed: str = "", **asked: Any) -> None:
        message = BackMsg()
        run = message.rerun_script
        run.query_string = self.view.query
        run.page_script_hash = self.view.page_hash
        run.page_name = "" if self.view.page_hash else self.page
        run.widget_states.widgets.extend(self.view.states())
        if pressed:
            run.widget_states.widgets.add(id=pressed, trigger_value=True)
        run.cached_message_hashes.extend(self.view.cached)
        run.context_info.url = f"{NAME}/{self.page}"
        run.context_info.timezone, run.context_info.locale = "UTC", "en"
        run.context_info.color_scheme = "light"
        for name, value in asked.items():
            setattr(run, name, value)
        await self.socket.send(message.SerializeToString())

    async def listen(self) -> None:
        """Take what the server sends until it or the session ends."""
        try:
            async for data in self.socket:
                self._hear(data)
        finally:
            if self._asked is not None and not self._asked.answered.done():
                self._asked.answered.set_exception(ConnectionError("the server ended the session"))

    def _hear(self, data: bytes) -> None:
        news, asked = self.view.hear(data), self._asked
        if asked is None or news is News.NOTHING:
            return
        self._poll()
        if news is News.BEGAN:
            asked.began = asked.began or self.view.is_run_of(asked.fragment)
            return
        if asked.began and not asked.answered.done():
            asked.answered.set_result(time.perf_counter())
        if asked.answered.done() and not self.view.is_pending:
            self._rests.set()

    def _poll(self) -> None:
        """Start and stop the clocks of the fragments that the page asks for by itself."""
        for fragment in self._polling.keys() - self.view.polls.keys():
            self._polling.pop(fragment).cancel()
        for fragment, interval in self.view.polls.items():
            if fragment not in self._polling:
                self._polling[fragment] = asyncio.create_task(self._poll_one(fragment, interval))

    async def _poll_one(self, fragment: str, interval: float) -> None:
        with suppress(ConnectionClosed):
            while True:
                await asyncio.sleep(interval)
                await self._send(fragment_id=fragment, is_auto_rerun=True)

    def close(self) -> None:
        for task in self._polling.values():
            task.cancel()
        self._polling.clear()
        self.view.polls.clear()


@asynccontextmanager
async def opened(url: str, page: str, **where: Any) -> AsyncIterator[Session]:
    """A new session. It has asked for nothing yet. `where` may say at what `host` and `port` the server
    is that answers to the name in `url`.
    """
    parts = urlsplit(url)
    async with connect(
        f"ws://{parts.netloc}{parts.path}/_stcore/stream",
        origin=f"{parts.scheme}://{parts.netloc}",
        subprotocols=["streamlit"],
        max_size=None,
        compression=None,
        **where,
    ) as socket:
        session = Session(socket, page)
        listening = asyncio.create_task(session.listen())
        try:
            yield session
        finally:
            session.close()
            listening.cancel()
