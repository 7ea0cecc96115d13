"""Contract: the facts are what torch, Triton and the driver say; a package that is missing, or breaks when it
is imported, is a fact as well.
"""

import platform
from types import SimpleNamespace

from kernels.check.probe_machine import Machine
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


def test_an_amd_gpu_has_an_architecture_and_no_compute_capability():
    cuda = Cuda(1, name="AMD Instinct MI300X", gcnArchName="gfx942")
    facts = machine(packages(cuda, built=None, hip="7.0"), driver=Driver()).facts(0)
    assert (facts.gpu, facts.architecture, facts.capability) == ("AMD Instinct MI300X", "gfx942", None)
    assert (facts.hip, facts.cuda) == ("7.0", None)


def test_a_gpu_that_cannot_be_opened_is_told():
    facts = machine(packages(Cuda(1, busy=True))).facts(0)
    assert (facts.gpus, facts.gpu) == (1, None)
    assert facts.gpu_error == "CUDA error: all CUDA-capable devices are busy"


def test_a_lost_gpu_is_told_in_its_own_words():
    cuda = Cuda(2)
    here = machine(packages(cuda))
    here.select(1)
    assert cuda.current == 1
    assert here.fault() == ""
    here.release()
    assert cuda.current is None
    assert machine(packages(Cuda(1, fault=True))).fault() == "CUDA error: an illegal memory access"
