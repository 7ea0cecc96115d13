"""Contract: in the worker a GEMM has a first answer soon and a careful one later, which can be stopped and
taken up again; equal tensors are drawn once; the cost of a job is known before it runs.
"""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from kernels.device import DeviceKind
from kernels.measure import gemm as answers
from kernels.measure.jobs import GemmJob
from kernels.measure.machine import StoppedEarly
from kernels.measure.rows import Peer
from tests.kernels.worker.stand_in import row

JOB = GemmJob(recipe="rowwise", matmul="fprop", m=70, n=50, k=200, runs=2)
FIRST, CAREFUL = replace(row(JOB), is_first=True), row(JOB)


@pytest.fixture
def on_a_gpu(monkeypatch):
    """Answers without work, as if there were a GPU."""
    work = SimpleNamespace(device=SimpleNamespace(kind=DeviceKind.GPU))
    monkeypatch.setattr(answers, "Work", SimpleNamespace(of=lambda *given: work))
    monkeypatch.setattr(answers, "first_answer", lambda work: FIRST)
    monkeypatch.setattr(answers, "careful", lambda work: CAREFUL)


def answered(said: list, *, stopped: bool = False, **given):
    return answers.measure(JOB, progress=lambda *news: said.append(news), stopped=lambda: stopped, **given)


@pytest.mark.usefixtures("on_a_gpu")
def test_the_first_answer_is_told_before_the_careful_one_and_only_once():
    said: list = []
    assert answered(said) is CAREFUL
    assert [news[2] for news in said] == [FIRST]
    again: list = []
    assert answered(again, so_far=FIRST) is CAREFUL
    assert again == []


@pytest.mark.usefixtures("on_a_gpu")
def test_a_job_that_is_to_stop_has_told_its_first_answer():
    said: list = []
    with pytest.raises(StoppedEarly):
        answered(said, stopped=True)
    assert said[-1][2] is FIRST


@pytest.mark.alone
@pytest.mark.gpu
def test_a_first_answer_is_near_the_careful_one():
    said: list = []
    job = replace(JOB, m=4096, n=4096, k=4096, runs=10)
    found = answers.measure(job, progress=lambda *news: said.append(news), stopped=lambda: False)
    (first,) = [news[2] for news in said if len(news) > 2]
    assert first.is_first
    assert not found.is_first
    assert first.errors.rel_err == pytest.approx(found.errors.rel_err, rel=0.05)
    assert first.us(Peer.OURS) == pytest.approx(found.us(Peer.OURS), rel=0.5)
    assert first.over(Peer.BF16) is not None
