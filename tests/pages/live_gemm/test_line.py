"""Contract: a reader in the line sees the place and the wait, then a first answer that is marked as one, then
the careful one in its place; an answer that was there before says when it was measured.
"""

from dataclasses import replace

import pytest

from kernels.measure.jobs import Allowance
from kernels.measure.rows import SIMPLE_FIRST
from kernels.worker.jobs import Running, Waiting
from pages.kit.gemm import queue_panel as gpu_queue
from pages.kit.gemm.presets import refusal
from pages.kit.gemm.queue_panel import ago, in_words
from pages.kit.gemm.results import Origin, Result
from pages.live_gemm.facts import small_instead
from pages.live_gemm.result import notice
from tests.kernels.check.reports import REPORT
from tests.kernels.worker.gates import Gate
from tests.kernels.worker.stand_in import Act, job, row
from tests.pages.gemm_rows import gpu_row, run_until
from tests.pages.live_gemm.page import PAGE, SMALL, run_job
from tests.pages.texts import is_quiet, press, texts

FIRST = "This is the first answer"
OWN_HALF = "D to bf16) is 50%"
"""Error of the sum in the stand-in's first answer."""


@pytest.fixture
def workers(on_gpu, stand_in_workers):
    return stand_in_workers


def of(act: Act) -> dict[str, str]:
    return {**SMALL, "recipe": "mxfp8", "seed": str(int(act))}


def test_a_first_answer_is_shown_and_marked_until_the_careful_one_takes_its_place(open_app, workers, gates):
    gates.close(Gate.JOB)
    at = open_app(PAGE, **of(Act.TWO_ANSWERS))
    press(at, "Run on the GPU")
    run_until(at, lambda at: FIRST in texts(at))
    assert not is_quiet(at)
    assert OWN_HALF in texts(at)
    gates.open(Gate.JOB)
    run_until(at, is_quiet)
    assert FIRST not in texts(at)
    assert OWN_HALF not in texts(at)


def test_a_first_answer_stays_where_the_careful_one_is_stopped(open_app, workers, gates):
    gates.close(Gate.JOB)
    at = open_app(PAGE, **of(Act.TWO_ANSWERS))
    press(at, "Run on the GPU")
    run_until(at, lambda at: FIRST in texts(at))
    assert "takes this one's place" in texts(at)
    press(at, "Stop")
    run_until(at, is_quiet)
    assert OWN_HALF in texts(at)
    assert "It was not made: run it again." in texts(at)


def test_who_asks_too_fast_is_told_beside_the_run_that_waits(open_app, workers):
    first = workers.queue.submit(job(Act.HANG), "somebody else")
    at = open_app(PAGE, **of(Act.FINE))
    press(at, "Run on the GPU")
    mine = at.session_state[gpu_queue._STATE_KEY]
    for seed in range(100, 119):
        gemm = replace(job(Act.FINE), seed=seed)
        mine.tickets.insert(0, workers.queue.submit(gemm, mine.name))
    at.number_input(key="seed").set_value(119)
    press(at, "Run on the GPU")
    (error,) = at.error
    assert "You asked for more than 20 runs in 60 s" in error.value
    assert not is_quiet(at)
    workers.queue.stop(first)


def test_an_equal_run_of_another_session_is_answered_at_once_and_can_be_measured_again(open_app, workers):
    run_job(open_app(PAGE, **of(Act.FINE)))
    at = open_app(PAGE, **of(Act.FINE))
    at.button(key="run").click().run()
    assert is_quiet(at)
    assert len(at.dataframe[0].value) == 1
    assert ", for an equal run." in texts(at)
    at.button(key="measure_again").click().run()
    run_until(at, is_quiet)
    assert "for an equal run" not in texts(at)
    assert len(at.dataframe[0].value) == 2


def test_states_in_words():
    assert in_words(Waiting(2, 3.2)) == "waiting, 2 ahead of you, about 3 s"
    assert in_words(Waiting(0, 0.4)) == "next, about a second"
    assert in_words(Waiting(9, 130.0)) == "waiting, 9 ahead of you, about 2 min"
    assert in_words(Waiting(0, 3.2, None, 7.6)) == "next: compiling its code, 8 s"
    careful = Waiting(1, 9.0, row(job(Act.FINE)))
    assert in_words(careful).startswith("the careful answer comes once nobody waits")
    compiling = replace(careful, compiling_s=2.4)
    assert in_words(compiling) == "the fast kernel is compiled for the careful answer, 2 s"
    assert in_words(Waiting(1, 9.0, REPORT)).startswith("it goes on where it was, after those who wait")
    assert in_words(Running(fraction=0.5, note="timing", elapsed_s=1.6)) == "timing, 2 s"


def test_a_first_answer_by_the_simple_kernel_says_so():
    gpu = Result(replace(gpu_row(job(Act.FINE)), is_first=True), Origin.HERE)
    words = notice(gpu, gpu, runs="")
    simple = replace(gpu, row=replace(gpu.row, why=SIMPLE_FIRST))
    assert notice(simple, simple, runs="") == (
        f"{words} The simple kernel answered first, while the fast one is compiled."
    )

    assert [ago(seconds) for seconds in (0.2, 42.0, 400.0, 8000.0)] == [
        "just now",
        "42 s ago",
        "7 min ago",
        "2 h ago",
    ]


def test_a_gemm_too_large_for_a_class_is_refused_on_the_page(monkeypatch):
    huge = {"recipe": "mxfp8", "matmul": "fprop", "m": 65536, "n": 65536, "k": 65536}
    huge_job = type(job(Act.FINE))(**huge)
    assert "562,950 GFLOP" in refusal(huge_job, has_gpu=True)
    assert small_instead(huge_job, has_gpu=True)
    monkeypatch.setenv("FP8_EXPLORER_JOB_GFLOP", "1e9")
    assert "FP8_EXPLORER_JOB_SECONDS" in refusal(huge_job, has_gpu=True)
    monkeypatch.setenv("FP8_EXPLORER_JOB_SECONDS", "1000")
    assert refusal(huge_job, has_gpu=True) is None
    assert Allowance().refusal(huge_job) is not None
    with pytest.raises(ValueError, match="FP8_EXPLORER_JOB_GFLOP is a number above 0, got 'many'"):
        Allowance.of({"FP8_EXPLORER_JOB_GFLOP": "many"})


@pytest.mark.parametrize(
    ("exists", "active", "there"), [(False, False, True), (True, True, True), (True, False, False)]
)
def test_a_session_is_there_as_long_as_its_page_is_connected(monkeypatch, exists, active, there):
    class Server:
        def is_active_session(self, session_id):
            assert session_id == "abc"
            return active

    monkeypatch.setattr(gpu_queue.runtime, "exists", lambda: exists)
    monkeypatch.setattr(gpu_queue.runtime, "get_instance", Server)
    assert gpu_queue.is_present("abc/123") is there
