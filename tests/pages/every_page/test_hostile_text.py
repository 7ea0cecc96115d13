"""Contract: what a reader, a file or a worker says is shown and comes to life nowhere."""

from dataclasses import replace

import pytest

from kernels.measure.rows import Prediction
from kernels.worker.jobs import Failed
from pages.kit.gemm.queue_panel import End, Session
from tests.kernels.measure.made_up import changed
from tests.pages.benchmarks.page import JOB
from tests.pages.every_page.hostile_markup import MARKUP, WORD, shown_alive, shows_word
from tests.pages.gemm_rows import gpu_row, timing

ALL = " ".join(MARKUP)


def test_what_a_reader_types_comes_to_life_nowhere(open_app):
    """Each kind of markup: tests/pages/kit/test_inert.py."""
    at = open_app("pages/formats.py")
    at.text_input(key="number").set_value(f"1 {MARKUP[1]}").run()
    assert not at.exception
    assert shows_word(at)
    assert shown_alive(at) == []


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("pages/live_gemm.py", {"recipe": JOB.recipe, "matmul": JOB.matmul}),
        ("pages/benchmarks.py", {}),
        ("pages/benchmarks.py", {"bench_show": "roofline"}),
        ("pages/benchmarks.py", {"bench_show": "cost"}),
    ],
)
def test_a_recorded_row_comes_to_life_nowhere(stand_in_workers, recorded, open_app, page, query):
    row, text = gpu_row(JOB), "\n".join(MARKUP[:10])
    machine = replace(row.machine, name=text, versions={"torch": text, text: text})
    said = {"kernel": text, "why": text, "date": text, "bf16": timing(200.0, text)}
    no_peer = changed(row, machine=machine, torch=None, note=text, **said)
    prediction = Prediction(outputs=2, equal=1, first_difference=text)
    with_peer = changed(row, machine=machine, torch=timing(90.0, text), prediction=prediction, **said)
    recorded(no_peer, with_peer)
    at = open_app(page, **query)
    assert not at.exception
    assert shows_word(at)
    assert shown_alive(at) == []


def test_the_end_of_a_job_comes_to_life_nowhere(stand_in_workers, monkeypatch, open_app):
    ended = Session(last=End(JOB, Failed(ALL)))
    monkeypatch.setattr("pages.kit.gemm.queue_panel.session", lambda: ended)
    at = open_app("pages/live_gemm.py")
    assert WORD in at.error[0].value
    assert shown_alive(at) == []
