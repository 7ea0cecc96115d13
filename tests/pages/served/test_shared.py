"""Contract: who leaves gives up his jobs, and no visitor takes away what sessions share: it is no cache."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
import streamlit as st
from streamlit.proto.BackMsg_pb2 import BackMsg

from pages.kit.gemm import queue_panel as gpu_queue
from pages.sanity_check import history as sanity_history
from tests.asynchronous import complete
from tests.load.session import Session, opened
from tests.serving import serving

SHARED = {"the queue": gpu_queue.workers, "the history": sanity_history.history}
PATIENCE_S = 30.0
WAITING, RUNNING = "my job: Waiting", "my job: Running"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(script="tests/pages/served/shared_app.py") as server:
        yield server.url


async def run(session: Session) -> list[str]:
    """Run the script; every st.text that it shows, in order."""
    await session.open(session.view.query)
    drawn = [one.delta.new_element for _, one in sorted(session.view.tree.items())]
    return [element.text.body for element in drawn if element.WhichOneof("type") == "text"]


@asynccontextmanager
async def visiting(url: str, query: str = "") -> AsyncIterator[Session]:
    async with opened(url, "") as session:
        session.view.query = query
        yield session


async def wait_for(session: Session, text: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while (await run(session))[0] != text:
            await asyncio.sleep(0.05)


def test_who_closes_or_reloads_a_page_makes_room_for_who_is_there(url):
    async def close() -> None:
        async with visiting(url, "busy=3") as last:
            async with visiting(url, "busy=1") as first, visiting(url, "busy=2") as ghost:
                await wait_for(first, RUNNING)
                await wait_for(ghost, WAITING)
                await wait_for(last, WAITING)
            await wait_for(last, RUNNING)

    complete(close())


def test_a_visitor_who_empties_the_caches_leaves_the_jobs_of_others_alone(url):
    async def empty() -> None:
        async with visiting(url, "hang=1") as owner, visiting(url) as visitor:
            await wait_for(owner, RUNNING)
            await run(visitor)
            before = await run(owner)
            assert before == [RUNNING, "a check is to come: True"]
            await visitor.socket.send(BackMsg(clear_cache=True).SerializeToString())
            assert await run(owner) == before
            assert (await run(visitor))[0] == WAITING
            assert await run(owner) == before

    complete(empty())


@pytest.mark.parametrize("shared", SHARED.values(), ids=SHARED)
def test_emptied_caches_leave_the_same_queue_and_history(shared):
    before = shared()
    st.cache_data.clear()
    st.cache_resource.clear()
    assert shared() is before
