"""What NVIDIA's driver says of its GPUs, through NVML: docs.nvidia.com/deploy/nvml-api.

A driver that is missing, fails or hangs says nothing; that is no error here.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from threading import Event, Thread
from types import TracebackType
from typing import Any, TypeVar

import pynvml

TIMEOUT_S = 10.0
"""A driver hangs on a lost GPU: threads ask it, and are waited for no longer than this."""
_EVERY_S = 0.05
_MILLI = 1e3

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Gauges:
    """Clock and power of one GPU at one moment, and its limits; None where the driver does not tell.

    `reasons` is NVML's bit mask of what holds the clock down.
    """

    clock_mhz: float | None = None
    max_clock_mhz: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    default_power_limit_w: float | None = None
    reasons: int | None = None


@dataclass(frozen=True, kw_only=True)
class Driver:
    """The driver's version, and what it lists: uuids of GPUs such as GPU-8f1c…, names such as NVIDIA H200."""

    version: str | None = None
    uuids: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def driver() -> Driver:
    """The driver; an empty one where there is none, it fails or it hangs."""
    found: list[Driver] = []
    _ask(lambda: found.append(_driver())).join(TIMEOUT_S)
    return found[0] if found else Driver()


def gauges(uuid: str) -> Gauges:
    """What the driver reads of a GPU now; without a uuid, of the only one there is."""
    found: list[Gauges] = []
    _ask(lambda: found.append(_read(_handle(uuid)))).join(TIMEOUT_S)
    return found[0] if found else Gauges()


class Watch:
    """Reads a GPU over and over while its `with` block runs. Then `gauges` are those of the moment of highest
    power, with the reasons of every moment.
    """

    def __init__(self, uuid: str) -> None:
        self.gauges = Gauges()
        self._uuid = uuid
        self._seen: list[Gauges] = []
        self._began, self._end = Event(), Event()

    def __enter__(self) -> "Watch":
        self._thread = _ask(self._look, self._began)
        self._began.wait(TIMEOUT_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join(TIMEOUT_S)
        self.gauges = _busiest(self._seen)

    def _look(self) -> None:
        gpu = _handle(self._uuid)
        self._seen.append(_read(gpu))
        self._began.set()
        while not self._end.wait(_EVERY_S):
            self._seen.append(_read(gpu))


def _busiest(seen: Sequence[Gauges]) -> Gauges:
    if not seen:
        return Gauges()
    masks = [gauges.reasons for gauges in seen if gauges.reasons is not None]
    union = 0
    for mask in masks:
        union |= mask
    return replace(max(seen, key=lambda gauges: gauges.power_w or 0.0), reasons=union if masks else None)


def _handle(uuid: str) -> Any:
    """NVML's handle of a GPU, or of the only one there is. Raises NVMLError where there is no such GPU."""
    if uuid:
        return pynvml.nvmlDeviceGetHandleByUUID(uuid)
    if pynvml.nvmlDeviceGetCount() != 1:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
    return pynvml.nvmlDeviceGetHandleByIndex(0)


def _read(gpu: Any) -> Gauges:
    return Gauges(
        clock_mhz=_number(pynvml.nvmlDeviceGetClockInfo, gpu, pynvml.NVML_CLOCK_SM),
        max_clock_mhz=_number(pynvml.nvmlDeviceGetMaxClockInfo, gpu, pynvml.NVML_CLOCK_SM),
        power_w=_number(pynvml.nvmlDeviceGetPowerUsage, gpu, per=_MILLI),
        power_limit_w=_number(pynvml.nvmlDeviceGetPowerManagementLimit, gpu, per=_MILLI),
        default_power_limit_w=_number(pynvml.nvmlDeviceGetPowerManagementDefaultLimit, gpu, per=_MILLI),
        # The name from before driver 535: drivers of today answer to it too.
        reasons=_told(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons, gpu),
    )


def _driver() -> Driver:
    handles = [
        _told(pynvml.nvmlDeviceGetHandleByIndex, number) for number in range(pynvml.nvmlDeviceGetCount())
    ]
    uuids, names = (
        tuple(filter(None, (_told(ask, gpu) for gpu in handles if gpu is not None)))
        for ask in (pynvml.nvmlDeviceGetUUID, pynvml.nvmlDeviceGetName)
    )
    return Driver(version=_told(pynvml.nvmlSystemGetDriverVersion), uuids=uuids, names=names)


def _told(ask: Callable[..., T], *arguments: Any) -> T | None:
    try:
        return ask(*arguments)
    except pynvml.NVMLError:
        return None


def _number(ask: Callable[..., int], *arguments: Any, per: float = 1.0) -> float | None:
    found = _told(ask, *arguments)
    return None if found is None else found / per


def _ask(work: Callable[[], None], told: Event | None = None) -> Thread:
    """A thread that works while NVML is open, and sets `told` at its end; without a driver that is soon."""

    def run() -> None:
        try:
            with suppress(pynvml.NVMLError), _opened():
                work()
        finally:
            if told is not None:
                told.set()

    thread = Thread(target=run, daemon=True)
    thread.start()
    return thread


@contextmanager
def _opened() -> Iterator[None]:
    pynvml.nvmlInit()
    try:
        yield
    finally:
        pynvml.nvmlShutdown()
