"""Contract: a GPU that the kernels are not for is refused wherever a device is asked for."""

import os
from types import SimpleNamespace

import pytest
import torch

from kernels.device import Unsupported, choose_backend, current_device, lacks_gluon, parsed_triton
from kernels.worker import engine
from kernels.worker.child import CannotRun
from tests.kernels.worker.stand_in import Act, job


@pytest.fixture
def amd(monkeypatch):
    """A torch for ROCm with an MI300X, which it calls a cuda device of capability 9.4."""
    facts = SimpleNamespace(name="AMD Instinct MI300X", major=9, minor=4, gcnArchName="gfx942")
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setattr(torch.version, "hip", "7.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: facts)


@pytest.mark.parametrize("ask", [current_device, choose_backend])
def test_an_amd_gpu_is_refused_in_a_sentence(amd, ask):
    with pytest.raises(
        Unsupported, match=r"^AMD Instinct MI300X is an AMD GPU \(gfx942 7\.0\).*NVIDIA GPUs\.$"
    ):
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
