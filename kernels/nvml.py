"""Facts of GPUs from NVIDIA's driver, through NVML: docs.nvidia.com/deploy/nvml-api.

A driver that is missing, fails or hangs gives none; that is no error here.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from threading import Event, Thread
from typing import Any, TypeVar

import pynvml

TIMEOUT_S = 10.0
"""A driver hangs on a lost GPU: threads ask it, and nobody waits longer for them."""
_EVERY_S = 0.05
_MILLI = 1e3

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Gauges:
    """Clock and power of one GPU at one moment, and its limits; None if unknown.

    reasons: NVML's bit mask of reasons for a low clock.
    """

    clock_mhz: float | None = None
    max_clock_mhz: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    default_power_limit_w: float | None = None
    reasons: int | None = None


@dataclass(frozen=True, kw_only=True)
class Driver:
    """The driver's version; uuids of GPUs such as GPU-8f1c…, names such as NVIDIA H200."""

    version: str | None = None
    uuids: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def driver() -> Driver:
    """The driver; an empty one if it is missing, fails or hangs."""
    return _answered(_driver) or Driver()


def gauges(uuid: str) -> Gauges:
    """Gauges of a GPU now; empty ones if it is unknown."""
    return _answered(lambda: _read(pynvml.nvmlDeviceGetHandleByUUID(uuid))) or Gauges()


def _answered(ask: Callable[[], T]) -> T | None:
    answers: list[T] = []
    _thread(lambda: answers.append(ask())).join(TIMEOUT_S)
    return answers[0] if answers else None


class Watch:
    """Reads a GPU while its `with` block runs.

    Then `gauges` are those of the moment of highest power, with the reasons of all moments.
    """

    def __init__(self, uuid: str) -> None:
        self.gauges = Gauges()
        self._uuid = uuid
        self._moments: list[Gauges] = []
        self._began, self._end = Event(), Event()

    def __enter__(self) -> "Watch":
        self._thread = _thread(self._watch, self._began)
        self._began.wait(TIMEOUT_S)
        return self

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self._thread.join(TIMEOUT_S)
        if moments := self._moments:
            masks = [each.reasons for each in moments if each.reasons is not None]
            busiest = max(moments, key=lambda each: each.power_w or 0.0)
            self.gauges = replace(busiest, reasons=reduce(or_, masks) if masks else None)

    def _watch(self) -> None:
        gpu = pynvml.nvmlDeviceGetHandleByUUID(self._uuid)
        self._moments.append(_read(gpu))
        self._began.set()
        while not self._end.wait(_EVERY_S):
            self._moments.append(_read(gpu))


def _read(gpu: Any) -> Gauges:
    return Gauges(
        clock_mhz=_number(pynvml.nvmlDeviceGetClockInfo, gpu, pynvml.NVML_CLOCK_SM),
        max_clock_mhz=_number(pynvml.nvmlDeviceGetMaxClockInfo, gpu, pynvml.NVML_CLOCK_SM),
        power_w=_number(pynvml.nvmlDeviceGetPowerUsage, gpu, per=_MILLI),
        power_limit_w=_number(pynvml.nvmlDeviceGetPowerManagementLimit, gpu, per=_MILLI),
        default_power_limit_w=_number(pynvml.nvmlDeviceGetPowerManagementDefaultLimit, gpu, per=_MILLI),
        # The name from before driver 535: drivers of today answer to it too.
        reasons=_answer(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons, gpu),
    )


def _driver() -> Driver:
    numbers = range(pynvml.nvmlDeviceGetCount())
    gpus = [gpu for each in numbers if (gpu := _answer(pynvml.nvmlDeviceGetHandleByIndex, each)) is not None]
    uuids, names = (
        tuple(filter(None, (_answer(ask, gpu) for gpu in gpus)))
        for ask in (pynvml.nvmlDeviceGetUUID, pynvml.nvmlDeviceGetName)
    )
    return Driver(version=_answer(pynvml.nvmlSystemGetDriverVersion), uuids=uuids, names=names)


def _answer(ask: Callable[..., T], *arguments: Any) -> T | None:
    try:
        return ask(*arguments)
    except pynvml.NVMLError:
        return None


def _number(ask: Callable[..., int], *arguments: Any, per: float = 1.0) -> float | None:
    number = _answer(ask, *arguments)
    return None if number is None else number / per


def _thread(work: Callable[[], None], end: Event | None = None) -> Thread:
    """A thread that works with NVML open, and sets `end` at its end; without a driver that is soon."""

    def run() -> None:
        try:
            with suppress(pynvml.NVMLError):
                pynvml.nvmlInit()
                try:
                    work()
                finally:
                    pynvml.nvmlShutdown()
        finally:
            if end is not None:
                end.set()

    thread = Thread(target=run, daemon=True)
    thread.start()
    return thread
