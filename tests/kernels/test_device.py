"""Contract: a GPU that the kernels are not for is refused; cores are those of the container."""

import os
from types import SimpleNamespace

import pytest
import torch
import triton

from kernels import device
from kernels.cores import cores
from kernels.device import Unsupported, choose_backend, current_device, lacks_gluon, parse_triton, too_old
from kernels.worker import child
from tests.kernels.worker.stand_in import Act, job

AMD_SAYS = r"AMD Instinct MI300X is an AMD GPU \(gfx942 7\.0\).*NVIDIA GPUs\."


@pytest.fixture
def amd(monkeypatch):
    """A torch for ROCm with an MI300X, which it calls a cuda device of capability 9.4."""
    facts = SimpleNamespace(
        name="AMD Instinct MI300X", major=9, minor=4, gcnArchName="gfx942", multi_processor_count=304
    )
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setattr(torch.version, "hip", "7.0")
    for name, value in (
        ("is_available", True),
        ("device_count", 1),
        ("current_device", 0),
        ("set_device", None),
        ("mem_get_info", (1 << 37, 1 << 38)),
        ("get_device_properties", facts),
    ):
        monkeypatch.setattr(torch.cuda, name, lambda *given, value=value: value)


@pytest.mark.parametrize("ask", [current_device, choose_backend])
def test_an_amd_gpu_is_refused_in_a_sentence(amd, ask):
    with pytest.raises(Unsupported, match=f"^{AMD_SAYS}$"):
        ask()
    assert "TRITON_INTERPRET" not in os.environ


def test_a_worker_on_an_amd_gpu_refuses_jobs_with_that_sentence(amd):
    loaded = child.load()
    with pytest.raises(Unsupported, match=r"^AMD Instinct MI300X is an AMD GPU"):
        loaded.measure(job(Act.FINE), progress=lambda *told: None, stopped=lambda: False)


@pytest.mark.parametrize(
    ("release", "known"), [("3.5.1", False), ("3.6.0", True), ("3.9.9+git1a2b", True), ("3.10.0rc1", False)]
)
def test_gluon_is_for_the_tritons_it_was_written_with(release, known):
    assert (lacks_gluon(parse_triton(release)) == "") == known


def test_a_triton_that_compiles_no_kernel_is_refused_wherever_a_device_is_asked_for(monkeypatch):
    monkeypatch.setattr(device, "triton_version", lambda: (3, 2))
    monkeypatch.setattr(triton, "__version__", "3.2.0")
    for ask in (current_device, choose_backend):
        with pytest.raises(
            Unsupported, match=r"^the kernels need Triton 3\.4 or a later one, and this is 3\.2$"
        ):
            ask()
    assert [too_old(one) == "" for one in ((3, 3), (3, 4), (3, 11), (4, 0))] == [False, True, True, True]


MANY = 1_000


@pytest.fixture
def many_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(MANY)), raising=False)


@pytest.mark.parametrize(
    ("written", "count"),
    [
        ("200000 100000\n", 2),
        ("150000 100000\n", 2),
        ("1000 100000\n", 1),
        ("999999999 100000\n", MANY),
        ("max 100000\n", MANY),
        ("100000 0\n", MANY),
        ("words\n", MANY),
        ("", MANY),
    ],
)
@pytest.mark.usefixtures("many_cores")
def test_a_container_s_time_is_counted_in_cores(tmp_path, written, count):
    (tmp_path / "cpu.max").write_text(written)
    assert cores(tmp_path) == count


@pytest.mark.usefixtures("many_cores")
def test_without_a_container_there_are_those_that_a_process_may_run_on(tmp_path):
    assert cores(tmp_path) == MANY
