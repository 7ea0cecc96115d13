"""Contract: a worker that cannot load torch or Triton refuses jobs with the reason, and still does checks."""

from functools import partial

import pytest

from kernels.check.job import CheckJob
from kernels.check.report import Verdict
from kernels.check.run import run
from kernels.device import NoTriton
from kernels.worker import engine
from kernels.worker.child import CannotRun, StoppedOnRequest
from tests.kernels.check.reports import BROKEN_TRITON, NO_TORCH
from tests.kernels.check.stand_in import StandIn, plan_of, step
from tests.worker.stand_in import Act, job

NEVER = {"progress": lambda *told: None, "stopped": lambda: False}


@pytest.fixture(params=[NoTriton("no Triton"), ImportError("no Triton"), OSError("no Triton")], ids=repr)
def loaded(request, monkeypatch):
    """An engine whose packages do not load."""

    def fail():
        raise request.param

    monkeypatch.setattr(engine, "choose_backend", fail)
    return engine.load()


def test_a_gemm_is_refused_with_the_reason(loaded):
    with pytest.raises(CannotRun, match="no Triton"):
        loaded.measure(job(Act.FINE), **NEVER)


def test_a_check_says_what_is_missing(loaded, monkeypatch):
    monkeypatch.setattr(engine, "run", partial(run, machine=StandIn((NO_TORCH,))))
    report = loaded.measure(CheckJob(), **NEVER)
    assert (report.finished, report.lines[0].name, report.lines[0].verdict) == (True, "torch", Verdict.FAIL)
    assert "torch is not installed" in report.lines[0].detail


def test_a_check_that_is_stopped_is_stopped(loaded, monkeypatch):
    machine = StandIn((BROKEN_TRITON,))
    monkeypatch.setattr(engine, "run", partial(run, machine=machine, plan=plan_of(step("a"))))
    with pytest.raises(StoppedOnRequest):
        loaded.measure(CheckJob(), **NEVER | {"stopped": lambda: True})
