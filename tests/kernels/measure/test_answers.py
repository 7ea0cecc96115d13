"""Contract: in the worker a GEMM has a first answer soon and a careful one later, which can be stopped and
taken up again; equal tensors are drawn once; the cost of a job is known before it runs.
"""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from kernels.device import HOPPER, DeviceKind
from kernels.gemm.plan import plan_simple
from kernels.measure import gemm as answers
from kernels.measure.jobs import GemmJob, StoppedEarly
from kernels.measure.rows import SIMPLE_FIRST, Peer
from tests.kernels.worker.stand_in import row

JOB = GemmJob(recipe="rowwise", matmul="fprop", m=70, n=50, k=200, runs=2)
FIRST, CAREFUL = replace(row(JOB), is_first=True), row(JOB)


@pytest.fixture
def on_a_gpu(monkeypatch):
    """Answers without work, as if there were a GPU."""

    def work_of(*given, simple_first: bool):
        plan = SimpleNamespace(why=SIMPLE_FIRST if simple_first else "")
        return SimpleNamespace(device=SimpleNamespace(kind=DeviceKind.GPU), plan=plan)

    monkeypatch.setattr(answers, "Work", work_of)
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


@pytest.mark.usefixtures("on_a_gpu")
def test_a_job_whose_simple_kernel_answers_first_stops_there():
    said: list = []
    with pytest.raises(StoppedEarly):
        answered(said, simple_first=True)
    assert said[-1][2] is FIRST


@pytest.mark.parametrize(("side", "is_simple"), [(2048, False), (50, True)])
def test_the_simple_kernel_answers_first_where_another_is_planned(monkeypatch, side, is_simple):
    job = replace(JOB, m=side, n=side, k=side)
    drawn = SimpleNamespace(quantized=lambda: (None, None))
    monkeypatch.setattr(answers, "_product", lambda *given: None)
    monkeypatch.setattr(answers, "Operands", SimpleNamespace(of=lambda *given: drawn))
    monkeypatch.setattr(answers, "current_device", lambda: HOPPER)
    work = answers.Work(job, lambda *news: None, lambda: False, simple_first=True)
    assert work.plan.blocks == plan_simple(job.spec, job.mnk, HOPPER, job.accumulation).blocks
    assert (work.plan.why == SIMPLE_FIRST) is not is_simple


@pytest.mark.gpu
def test_on_a_gpu_the_simple_kernel_answers_first_with_its_times():
    said: list = []
    job = replace(JOB, m=2048, n=2048, k=2048)
    with pytest.raises(StoppedEarly):
        answers.measure(
            job, progress=lambda *news: said.append(news), stopped=lambda: False, simple_first=True
        )
    (first,) = [news[2] for news in said if len(news) > 2]
    assert first.is_first
    assert first.plan.variant.is_simple
    assert first.why == SIMPLE_FIRST
    assert first.over(Peer.BF16) is not None


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
