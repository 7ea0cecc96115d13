"""Contract: a worker that cannot load torch or Triton, or build a kernel, refuses jobs with the reason and
what to do. It goes on: a fresh one could do no more. Without torch or Triton it still does checks.
"""

from functools import partial
from subprocess import CalledProcessError
from types import SimpleNamespace

import pytest

from kernels.check.job import CheckJob
from kernels.check.report import Verdict
from kernels.check.run import run
from kernels.device import NoTriton
from kernels.worker import engine
from kernels.worker.child import CannotRun
from tests.kernels.check.reports import NO_TORCH
from tests.kernels.check.stand_in import StandIn
from tests.kernels.worker.stand_in import Act, job

NEVER = {"progress": lambda *told: None, "stopped": lambda: False}


ERRORS = (ImportError, OSError, AttributeError, TypeError, KeyError, NameError)
BROKEN = [error("no Triton") for error in ERRORS]
NOT_BUILT = [*BROKEN[:3], SyntaxError("no Triton"), CalledProcessError(1, "no Triton")]


class StoppedEarly(Exception):
    """What kernels.bench.measure raises where it is stopped."""


def fail(error, *_, **__):
    raise error


@pytest.fixture(params=[NoTriton("no Triton"), *BROKEN], ids=repr)
def loaded(request, monkeypatch):
    """An engine whose packages do not load."""
    monkeypatch.setattr(engine, "choose_backend", partial(fail, request.param))
    return engine.load()


@pytest.mark.parametrize("error", BROKEN, ids=repr)
def test_a_kernel_that_does_not_load_is_found_before_the_first_job(monkeypatch, error):
    monkeypatch.setattr(engine, "choose_backend", lambda: None)
    monkeypatch.setattr(engine, "import_module", partial(fail, error))
    with pytest.raises(CannotRun, match=r"no Triton.*Install both anew") as told:
        engine.load().measure(job(Act.FINE), **NEVER)
    assert type(error).__name__ in str(told.value)


@pytest.mark.parametrize("error", NOT_BUILT, ids=repr)
def test_a_kernel_that_cannot_be_built_is_no_fault_of_the_worker(monkeypatch, error):
    module = SimpleNamespace(StoppedEarly=StoppedEarly, measure=partial(fail, error))
    monkeypatch.setattr(engine, "choose_backend", lambda: None)
    monkeypatch.setattr(engine, "import_module", lambda name: module)
    monkeypatch.setattr(engine, "current_device", lambda: SimpleNamespace(name="a GPU"))
    with pytest.raises(CannotRun, match=r"no Triton.*Run a sanity check"):
        engine.load().measure(job(Act.FINE), **NEVER)


def test_a_check_says_what_is_missing(loaded, monkeypatch):
    monkeypatch.setattr(engine, "run", partial(run, machine=StandIn((NO_TORCH,))))
    report = loaded.measure(CheckJob(), **NEVER)
    assert (report.finished, report.lines[0].name, report.lines[0].verdict) == (True, "torch", Verdict.FAIL)
    assert "torch is not installed" in report.lines[0].detail
