"""Contract: what NVML says becomes plain data; what it refuses to say becomes None; a driver that is missing,
fails or hangs is no error.
"""

import time
from threading import Event
from types import SimpleNamespace

import pynvml
import pytest

from kernels import nvml
from kernels.nvml import Driver, Gauges, Watch, driver, gauges


class FakeNvml:
    """pynvml of a server with these GPUs: fields by uuid. An error among the values is raised."""

    NVMLError = pynvml.NVMLError
    NVML_CLOCK_SM = pynvml.NVML_CLOCK_SM

    def __init__(self, *gpus: SimpleNamespace | Exception) -> None:
        self.gpus, self.opened = gpus, 0
        for name, field in (
            ("ClockInfo", "clock"),
            ("MaxClockInfo", "top"),
            ("PowerUsage", "power"),
            ("PowerManagementLimit", "limit"),
            ("PowerManagementDefaultLimit", "default"),
            ("CurrentClocksThrottleReasons", "reasons"),
            ("UUID", "uuid"),
        ):
            setattr(self, f"nvmlDeviceGet{name}", lambda gpu, kind=None, field=field: self.of(gpu, field))

    def of(self, gpu, field):
        assert self.opened == 1, "NVML is asked while it is open"
        value = getattr(gpu, field)
        if isinstance(value, list):
            value = value.pop(0) if len(value) > 1 else value[0]
        if isinstance(value, Exception):
            raise value
        return value

    def nvmlInit(self):
        self.opened += 1

    def nvmlShutdown(self):
        self.opened -= 1

    def nvmlSystemGetDriverVersion(self):
        return "580.65"

    def nvmlDeviceGetCount(self):
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, number):
        if isinstance(self.gpus[number], Exception):
            raise self.gpus[number]
        return self.gpus[number]

    def nvmlDeviceGetName(self, handle):
        return handle.name

    def nvmlDeviceGetHandleByUUID(self, uuid):
        gpus = [gpu for gpu in self.gpus if getattr(gpu, "uuid", None) == uuid]
        if not gpus:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return gpus[0]


def gpu(uuid: str, **fields) -> SimpleNamespace:
    told = {
        "name": f"the GPU of {uuid}",
        "clock": 345,
        "top": 1980,
        "power": 75_500,
        "limit": 700_000,
        "default": 700_000,
        "reasons": 1,
    }
    return SimpleNamespace(uuid=uuid, **told | fields)


AT_REST = Gauges(
    clock_mhz=345.0,
    max_clock_mhz=1980.0,
    power_w=75.5,
    power_limit_w=700.0,
    default_power_limit_w=700.0,
    reasons=1,
)


@pytest.fixture
def server(monkeypatch):
    def of(*gpus) -> FakeNvml:
        fake = FakeNvml(*gpus)
        monkeypatch.setattr(nvml, "pynvml", fake)
        return fake

    return of


def test_the_driver_lists_the_gpus_that_it_can_open(server):
    fake = server(gpu("GPU-1"), pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST), gpu("GPU-2"))
    names = ("the GPU of GPU-1", "the GPU of GPU-2")
    assert driver() == Driver(version="580.65", uuids=("GPU-1", "GPU-2"), names=names)
    assert fake.opened == 0


def test_a_watch_has_the_moment_of_highest_power_and_every_reason(server, monkeypatch):
    monkeypatch.setattr(nvml, "_EVERY_S", 0.001)
    lost = pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST)
    busy = gpu("GPU-1", clock=[345, 1100, 1980], power=[75_000, 449_000, 200_000], reasons=[1, 4, 0, lost])
    fake = server(busy)
    with Watch("GPU-1") as watch:
        assert watch.gauges == Gauges()
        deadline = time.monotonic() + 10
        while len(busy.reasons) > 1:
            assert time.monotonic() < deadline
            time.sleep(0.001)
    assert (watch.gauges.clock_mhz, watch.gauges.power_w, watch.gauges.reasons) == (1100.0, 449.0, 5)
    assert fake.opened == 0


def test_without_a_driver_nothing_is_known(server):
    fake = server()

    def missing():
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    fake.nvmlInit = missing
    with Watch("GPU-1") as watch:
        pass
    assert (driver(), gauges("GPU-1"), watch.gauges) == (Driver(), Gauges(), Gauges())


def test_a_driver_that_hangs_is_given_up(server, monkeypatch):
    fake = server(gpu("GPU-1"))
    answer = Event()

    def hanging():
        answer.wait()
        raise pynvml.NVMLError(pynvml.NVML_ERROR_UNKNOWN)

    fake.nvmlInit = hanging
    monkeypatch.setattr(nvml, "TIMEOUT_S", 0.05)
    with Watch("GPU-1") as watch:
        pass
    assert (driver(), gauges("GPU-1"), watch.gauges) == (Driver(), Gauges(), Gauges())
    answer.set()


def test_a_gpu_is_read_by_its_uuid(server):
    server(gpu("GPU-1", clock=1200), gpu("GPU-2"))
    assert gauges("GPU-2") == AT_REST
    assert gauges("GPU-3") == Gauges()
