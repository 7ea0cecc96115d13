"""Contract: who leaves gives up his jobs, and no visitor takes away what sessions share: it is no cache."""

import time
from collections.abc import Iterator

import pytest
import streamlit as st
from streamlit.proto.BackMsg_pb2 import BackMsg

from pages.kit.gemm import queue_panel as gpu_queue
from pages.sanity_check import history as sanity_history
from tests.pages.served.visitor import PATIENCE_S, Visitor, visiting
from tests.serving import serving

SHARED = {"the queue": gpu_queue.workers, "the history": sanity_history.history}
WAITING, RUNNING = "my job: Waiting", "my job: Running"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server with one stand-in worker."""
    with serving(script="tests/pages/served/shared_app.py") as server:
        yield server.url


def wait_for(visitor: Visitor, text: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while (seen := visitor.run())[0] != text:
        assert time.monotonic() < deadline, seen
        time.sleep(0.05)


def test_who_closes_or_reloads_a_page_makes_room_for_who_is_there(url):
    with visiting(url, "busy=3") as last:
        with visiting(url, "busy=1") as first, visiting(url, "busy=2") as ghost:
            wait_for(first, RUNNING)
            wait_for(ghost, WAITING)
            wait_for(last, WAITING)
        wait_for(last, RUNNING)


def test_a_visitor_who_empties_the_caches_leaves_the_jobs_of_others_alone(url):
    with visiting(url, "hang=1") as owner, visiting(url) as visitor:
        wait_for(owner, RUNNING)
        visitor.run()
        before = owner.run()
        assert before == [RUNNING, "a check is to come: True"]
        visitor.send(BackMsg(clear_cache=True))
        assert owner.run() == before
        assert visitor.run()[0] == WAITING
        assert owner.run() == before


@pytest.mark.parametrize("shared", SHARED.values(), ids=SHARED)
def test_emptied_caches_leave_the_same_queue_and_history(shared):
    before = shared()
    st.cache_data.clear()
    st.cache_resource.clear()
    assert shared() is before
