"""Reads the facts of a machine: torch, Triton, the driver and each GPU. Tests put stand-ins in its place."""

import platform
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from kernels.check.facts import Facts
from kernels.device import interpreting
from kernels.faults import BROKEN_IMPORTS, first_line
from kernels.nvml import Driver, Gauges, driver, gauges


def installed(package: str) -> str | None:
    """A package's version, without importing it; None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def host() -> Facts:
    """The facts known before anything is examined."""
    return Facts(system=f"{platform.system()} {platform.machine()}", python=platform.python_version())


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The places where a check looks. Each is a field, so that a test can replace it."""

    load: Callable[[str], Any] = import_module
    installed: Callable[[str], str | None] = installed
    driver: Callable[[], Driver] = driver
    gauges: Callable[[str], Gauges] = gauges
    interpreted: Callable[[], bool] = interpreting

    def gpus(self) -> int:
        """How many GPUs torch can use here; 0 where there is no torch or it cannot be imported."""
        torch, _ = self._import("torch")
        return torch.cuda.device_count() if torch is not None and torch.cuda.is_available() else 0

    def facts(self, device: int) -> Facts:
        """The facts of GPU number `device` of those that torch can use, or of a machine without one."""
        torch, torch_error = self._import("torch")
        triton, triton_error = self._import("triton")
        seen = self.driver()
        facts = replace(
            host(),
            torch=self.installed("torch") if torch is None else str(torch.__version__),
            torch_error=torch_error,
            triton=self.installed("triton") if triton is None else str(triton.__version__),
            triton_error=triton_error,
            cuda=torch.version.cuda if torch is not None else None,
            hip=torch.version.hip if torch is not None else None,
            driver=seen.version,
            seen_gpus=len(seen.uuids) or None,
            interpreted=self.interpreted(),
        )
        usable = torch is not None and torch.cuda.is_available()
        count = torch.cuda.device_count() if usable else 0
        facts = replace(facts, gpus=count)
        if device >= count:
            return facts
        try:
            return self._with_gpu(facts, torch, device)
        except RuntimeError as error:
            return replace(facts, gpu_error=first_line(error))

    def uuid(self, device: int) -> str:
        """nvidia-smi's name of a GPU that torch can use; empty where torch does not know it."""
        torch, _ = self._import("torch")
        uuid = getattr(torch.cuda.get_device_properties(device), "uuid", None) if torch is not None else None
        return f"GPU-{uuid}" if uuid else ""

    def select(self, device: int) -> None:
        """Direct this thread's kernels and tensors to a GPU."""
        self.load("torch").cuda.set_device(device)

    def release(self) -> None:
        """Return the GPU memory that torch keeps for later."""
        self.load("torch").cuda.empty_cache()

    def fault(self) -> str:
        """A line on what is wrong with the GPU in use after an error; empty where it still answers."""
        try:
            self.load("torch").cuda.synchronize()
        except RuntimeError as error:
            return first_line(error)
        return ""

    def _with_gpu(self, facts: Facts, torch: Any, device: int) -> Facts:
        gpu = torch.cuda.get_device_properties(device)
        free, total = torch.cuda.mem_get_info(device)
        read = Gauges() if facts.hip else self.gauges(self.uuid(device))
        return replace(
            facts,
            gpu=gpu.name,
            architecture=getattr(gpu, "gcnArchName", "") if facts.hip else "",
            capability=None if facts.hip else (gpu.major, gpu.minor),
            sms=gpu.multi_processor_count,
            memory_bytes=total,
            free_bytes=free,
            clock_mhz=read.clock_mhz,
            max_clock_mhz=read.max_clock_mhz,
            power_w=read.power_w,
            power_limit_w=read.power_limit_w,
            default_power_limit_w=read.default_power_limit_w,
        )

    def _import(self, package: str) -> tuple[Any, str]:
        """(module, "") or (None, why not); a package that is not installed is no error."""
        if self.installed(package) is None:
            return None, ""
        try:
            return self.load(package), ""
        except BROKEN_IMPORTS as error:
            return None, f"{type(error).__name__}: {first_line(error)}"
