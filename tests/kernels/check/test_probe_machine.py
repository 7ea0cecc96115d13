"""Contract: the facts are what torch, Triton and the driver say; a package that is missing, or breaks when it
is imported, is a fact as well.
"""

import platform
from types import SimpleNamespace

import pytest

from kernels.check.probe_machine import Machine, installed
from kernels.faults import first_line
from kernels.nvml import Driver, Gauges

UUID = "11111111-2222-3333-4444-555555555555"


class Cuda:
    """torch.cuda with this many H200s."""

    def __init__(self, count: int, **more) -> None:
        self.count, self.more, self.current = count, more, 0

    def is_available(self) -> bool:
        return self.count > 0

    def device_count(self) -> int:
        return self.count

    def get_device_properties(self, device: int) -> SimpleNamespace:
        assert 0 <= device < self.count
        if self.more.get("busy"):
            raise RuntimeError("CUDA error: all CUDA-capable devices are busy\nCompile with …")
        named = {"name": "NVIDIA H200", "major": 9, "minor": 0, "multi_processor_count": 132, "uuid": UUID}
        return SimpleNamespace(**named | self.more)

    def mem_get_info(self, device: int) -> tuple[int, int]:
        return (100 << 30) - device, 140 << 30

    def set_device(self, device: int) -> None:
        self.current = device

    def empty_cache(self) -> None:
        self.current = None

    def synchronize(self) -> None:
        if self.more.get("fault"):
            raise RuntimeError("CUDA error: an illegal memory access\nCompile with …")


def packages(cuda: Cuda | None, built: str | None = "13.0", hip: str | None = None, **errors: Exception):
    """A loader of stand-ins; a name in `errors` raises that when it is imported."""
    modules = {
        "torch": SimpleNamespace(
            __version__="2.11.0", cuda=cuda or Cuda(0), version=SimpleNamespace(cuda=built, hip=hip)
        ),
        "triton": SimpleNamespace(__version__="3.6.0"),
    }

    def load(name: str):
        if name in errors:
            raise errors[name]
        return modules[name]

    return load


H200 = Gauges(clock_mhz=345.0, max_clock_mhz=1980.0, power_w=75.5, power_limit_w=700.0)
TWO = Driver(version="580.65", uuids=("GPU-0", f"GPU-{UUID}"))


def machine(load, driver=TWO, missing: tuple[str, ...] = ()) -> Machine:
    return Machine(
        load=load,
        driver=lambda: driver,
        gauges={f"GPU-{UUID}": H200 if driver.uuids else Gauges(), "": Gauges()}.__getitem__,
        installed=lambda package: None if package in missing else "9.9",
        interpreted=lambda: False,
    )


def test_a_gpu_s_facts_are_read():
    here = machine(packages(Cuda(2)))
    facts = here.facts(1)
    assert here.gpus() == facts.gpus == facts.seen_gpus == 2
    assert (facts.gpu, facts.capability, facts.sms) == ("NVIDIA H200", (9, 0), 132)
    assert (facts.memory_bytes, facts.free_bytes) == (140 << 30, (100 << 30) - 1)
    assert (facts.clock_mhz, facts.max_clock_mhz) == (345.0, 1980.0)
    assert (facts.power_w, facts.power_limit_w, facts.default_power_limit_w) == (75.5, 700.0, None)
    assert (facts.torch, facts.triton, facts.cuda, facts.driver) == ("2.11.0", "3.6.0", "13.0", "580.65")
    assert facts.python == platform.python_version()
    assert facts.versions == {"python": facts.python, "torch": "2.11.0", "triton": "3.6.0"}
    assert here.uuid(1) == f"GPU-{UUID}"


def test_without_a_driver_that_answers_clock_and_power_are_unknown():
    facts = machine(packages(Cuda(1)), driver=Driver()).facts(0)
    assert facts.gpu == "NVIDIA H200"
    assert (facts.driver, facts.seen_gpus, facts.clock_mhz, facts.power_limit_w) == (None, None, None, None)


def test_a_driver_that_lists_no_gpu_is_told_without_a_number_of_them():
    facts = machine(packages(None), driver=Driver(version="580.65")).facts(0)
    assert (facts.driver, facts.seen_gpus) == ("580.65", None)


def test_an_amd_gpu_has_an_architecture_and_no_compute_capability():
    cuda = Cuda(1, name="AMD Instinct MI300X", gcnArchName="gfx942")
    facts = machine(packages(cuda, built=None, hip="7.0"), driver=Driver()).facts(0)
    assert (facts.gpu, facts.architecture, facts.capability) == ("AMD Instinct MI300X", "gfx942", None)
    assert (facts.hip, facts.cuda) == ("7.0", None)


def test_torch_without_cuda_has_no_gpu():
    facts = machine(packages(None, built=None)).facts(0)
    assert (facts.gpus, facts.gpu, facts.cuda, facts.seen_gpus) == (0, None, None, 2)


def test_a_gpu_that_is_not_there_leaves_the_number_of_those_that_are():
    facts = machine(packages(Cuda(1))).facts(3)
    assert (facts.gpus, facts.gpu) == (1, None)


def test_a_gpu_that_cannot_be_opened_is_told():
    facts = machine(packages(Cuda(1, busy=True))).facts(0)
    assert (facts.gpus, facts.gpu) == (1, None)
    assert facts.gpu_error == "CUDA error: all CUDA-capable devices are busy"


def test_a_package_that_is_not_installed_is_not_imported():
    here = machine(
        packages(None, torch=AssertionError(), triton=AssertionError()), missing=("torch", "triton")
    )
    facts = here.facts(0)
    assert here.gpus() == 0
    assert (facts.torch, facts.torch_error, facts.triton, facts.triton_error) == (None, "", None, "")
    assert here.uuid(0) == ""


@pytest.mark.parametrize(
    "error",
    [ImportError("libtriton.so: undefined symbol"), OSError("libtriton.so: no such file"), RuntimeError("x")],
    ids=lambda error: type(error).__name__,
)
def test_a_package_that_breaks_is_told_with_its_version(error):
    facts = machine(packages(Cuda(1), triton=error)).facts(0)
    assert facts.triton == "9.9"
    assert facts.triton_error == f"{type(error).__name__}: {error}"
    facts = machine(packages(Cuda(1), torch=error)).facts(0)
    assert (facts.torch, facts.gpu) == ("9.9", None)
    assert facts.torch_error == f"{type(error).__name__}: {error}"


def test_a_lost_gpu_is_told_in_its_own_words():
    cuda = Cuda(2)
    here = machine(packages(cuda))
    here.select(1)
    assert cuda.current == 1
    assert here.fault() == ""
    here.release()
    assert cuda.current is None
    assert machine(packages(Cuda(1, fault=True))).fault() == "CUDA error: an illegal memory access"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("one\ntwo", "one"),
        ("at 3:8:\n    x = y\n        ^\nno such name", "no such name"),
        ("", "ValueError"),
        ("x" * 400, "x" * 300 + "…"),
    ],
)
def test_an_error_is_told_in_one_line(text, line):
    assert first_line(ValueError(text)) == line


def test_versions_are_those_of_what_is_installed():
    assert installed("numpy")
    assert installed("no-such-package-here") is None
