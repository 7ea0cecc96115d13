"""Contract: what sessions share is no cache: one message of any visitor has Streamlit empty its caches."""

import time

import pytest
import streamlit as st
from streamlit.proto.BackMsg_pb2 import BackMsg

from pages.kit.gemm import queue_panel as gpu_queue
from pages.sanity_check import history as sanity_history
from tests.pages.served.visitor import PATIENCE_S, visiting
from tests.serving import serving

SHARED = {"the queue": gpu_queue.workers, "the history": sanity_history.history}


@pytest.mark.parametrize("shared", SHARED.values(), ids=SHARED)
def test_emptied_caches_leave_the_same_queue_and_history(shared):
    before = shared()
    st.cache_data.clear()
    st.cache_resource.clear()
    assert shared() is before


def test_a_visitor_who_empties_the_caches_leaves_the_jobs_of_others_alone():
    with (
        serving(script="tests/pages/served/shared_app.py") as server,
        visiting(server.url, "hang=1") as owner,
        visiting(server.url) as visitor,
    ):
        deadline = time.monotonic() + PATIENCE_S
        while (seen := owner.run())[0] != "my job: Running":
            assert time.monotonic() < deadline, seen
            time.sleep(0.05)
        visitor.run()
        before = owner.run()
        assert before == ["my job: Running", "a check is to come: True"]
        visitor.send(BackMsg(clear_cache=True))
        assert owner.run() == before
        assert visitor.run()[0] == "my job: Waiting"
        assert owner.run() == before
