"""A page for the tests to serve: a session asks for a job that runs until it is stopped, and is shown what it
waits for. The worker is the stand-in. Who leaves is soon forgotten.
"""

import streamlit as st

from kernels.worker import queue
from pages.kit.gemm import queue_panel as gpu_queue
from tests.kernels.worker.stand_in import Act, job, stand_in_process

queue.ABSENT_S = 0.5
gpu_queue.launchers = lambda gpus: (stand_in_process,)
if "asked" not in st.session_state:
    st.session_state["asked"] = True
    gpu_queue.submit(job(Act.POLL_STOPPED, m=int(st.query_params["busy"])))
for ticket in gpu_queue.session().tickets:
    st.text(f"my job: {type(gpu_queue.workers().queue.state(ticket)).__name__}")
