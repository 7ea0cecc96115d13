"""A page for the tests to serve. A session with `?hang=1` asks for a job that hangs, one with `?busy=1` for
one that runs until it is stopped, any other for a check; each is shown what it waits for. The worker is the
stand-in. Who leaves is soon forgotten.
"""

import streamlit as st

from kernels.check.report import CheckJob
from kernels.worker import queue
from pages.kit.gemm import queue_panel as gpu_queue
from pages.sanity_check import history as sanity_history
from tests.kernels.worker.stand_in import Act, job, stand_in_process

queue.ABSENT_S = 0.5
gpu_queue.launchers = lambda gpus: (stand_in_process,)
if "asked" not in st.session_state:
    st.session_state["asked"] = True
    if "hang" in st.query_params:
        gpu_queue.submit(job(Act.HANG))
    elif "busy" in st.query_params:
        gpu_queue.submit(job(Act.POLL_STOPPED, m=int(st.query_params["busy"])))
    else:
        sanity_history.start(CheckJob())
for ticket in gpu_queue.session().tickets:
    st.text(f"my job: {type(gpu_queue.workers().queue.state(ticket)).__name__}")
st.text(f"a check is to come: {sanity_history.history().is_busy}")
