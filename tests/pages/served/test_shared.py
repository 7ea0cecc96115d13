"""Contract: who leaves gives up his jobs, and no visitor takes away what sessions share: it is no cache."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import streamlit as st

from pages.kit.gemm import queue_panel as gpu_queue
from pages.sanity_check import history as sanity_history
from tests.asynchronous import complete
from tests.load.session import Session, opened
from tests.serving import serving

SHARED = {"the queue": gpu_queue.workers, "the history": sanity_history.history}
PATIENCE_S = 30.0
WAITING, RUNNING = "my job: Waiting", "my job: Running"


@asynccontextmanager
async def visiting(url: str, query: str) -> AsyncIterator[Session]:
    async with opened(url, "") as session:
        session.view.query = query
        yield session


async def wait_for(session: Session, text: str) -> None:
    """Run the script until its one st.text says this."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            await session.open(session.view.query)
            if [element.body for kind, element in session.view.elements() if kind == "text"] == [text]:
                return
            await asyncio.sleep(0.05)


def test_who_closes_or_reloads_a_page_makes_room_for_who_is_there():
    async def close(url: str) -> None:
        async with visiting(url, "busy=3") as last:
            async with visiting(url, "busy=1") as first, visiting(url, "busy=2") as ghost:
                await wait_for(first, RUNNING)
                await wait_for(ghost, WAITING)
                await wait_for(last, WAITING)
            await wait_for(last, RUNNING)

    with serving(script="tests/pages/served/shared_app.py") as server:
        complete(close(server.url))


@pytest.mark.parametrize("shared", SHARED.values(), ids=SHARED)
def test_emptied_caches_leave_the_same_queue_and_history(shared):
    before = shared()
    st.cache_data.clear()
    st.cache_resource.clear()
    assert shared() is before
