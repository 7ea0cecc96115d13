"""Contract: a GPU that the kernels are not for is refused wherever a device is asked for."""

import os
from importlib.metadata import PackageNotFoundError

import pytest
import triton

from kernels import device
from kernels.device import (
    ADA,
    HOPPER,
    Unsupported,
    choose_backend,
    current_device,
    lacks_gluon,
    parsed_triton,
    slowed,
    told_triton,
    too_old,
)
from kernels.worker import engine
from kernels.worker.child import CannotRun
from tests.kernels import strangers
from tests.kernels.worker.stand_in import Act, job


@pytest.fixture
def amd(monkeypatch):
    strangers.amd(monkeypatch)


@pytest.mark.parametrize("ask", [current_device, choose_backend])
def test_an_amd_gpu_is_refused_in_a_sentence(amd, ask):
    with pytest.raises(Unsupported, match=f"^{strangers.AMD_SAYS}$"):
        ask()
    assert "TRITON_INTERPRET" not in os.environ


def test_a_worker_on_an_amd_gpu_refuses_jobs_with_that_sentence(amd):
    loaded = engine.load()
    with pytest.raises(CannotRun, match=r"^AMD Instinct MI300X is an AMD GPU"):
        loaded.measure(job(Act.FINE), progress=lambda *told: None, stopped=lambda: False)


def test_on_an_amd_gpu_the_interpreter_can_be_asked_for(amd, monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    choose_backend()
    assert current_device().capability is None


@pytest.mark.parametrize(
    ("told", "known"), [("3.5.1", False), ("3.6.0", True), ("3.9.9+git1a2b", True), ("3.10.0rc1", False)]
)
def test_gluon_is_for_the_tritons_it_was_written_with(told, known):
    assert (lacks_gluon(parsed_triton(told)) == "") == known


def test_a_triton_that_compiles_no_kernel_is_refused_wherever_a_device_is_asked_for(monkeypatch):
    strangers.old_triton(monkeypatch)
    for ask in (current_device, choose_backend):
        with pytest.raises(
            Unsupported, match=r"^the kernels need Triton 3\.4 or a later one, and this is 3\.2$"
        ):
            ask()
    assert [too_old(one) == "" for one in ((3, 3), (3, 4), (3, 11), (4, 0))] == [False, True, True, True]


def test_hopper_alone_is_slowed_by_a_triton_without_our_gluon():
    assert slowed((3, 11), HOPPER.capability).endswith(
        "this is 3.11, so simpler kernels run, and slower ones"
    )
    assert slowed((3, 11), ADA.capability) == slowed((3, 6), HOPPER.capability) == ""


def test_a_triton_is_known_under_another_package_s_name(monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(device, "version", missing)
    assert told_triton.__wrapped__() == triton.__version__


def test_a_version_without_numbers_is_refused():
    with pytest.raises(Unsupported, match=r"starts with two numbers, such as 3\.6, got 'main'"):
        parsed_triton("main")
