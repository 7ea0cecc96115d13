"""Where workers run: one on each GPU that this process may use, else one on the CPU."""

import os
import sys
from collections.abc import Callable, Mapping
from itertools import takewhile

from kernels.nvml import Driver, driver
from kernels.paths import TOP
from kernels.worker.process import WorkerProcess
from kernels.worker.supervisor import Launch

_COMMAND = (sys.executable, "-m", "kernels.worker")


def visible_gpus(environment: Mapping[str, str], driver: Callable[[], Driver] = driver) -> tuple[str, ...]:
    """The values that CUDA_VISIBLE_DEVICES may have, one a GPU; none where there is no driver."""
    if "CUDA_VISIBLE_DEVICES" in environment:
        entries = (entry.strip() for entry in environment["CUDA_VISIBLE_DEVICES"].split(","))
        return tuple(takewhile(lambda entry: entry and not entry.startswith("-"), entries))
    return driver().uuids


def launchers(gpus: tuple[str, ...]) -> tuple[Launch, ...]:
    """A launcher for each GPU, or one for the CPU."""

    def launcher(environment: Mapping[str, str]) -> Launch:
        path = os.pathsep.join(filter(None, (str(TOP), os.environ.get("PYTHONPATH"))))
        return lambda: WorkerProcess(_COMMAND, env={"PYTHONPATH": path, **environment})

    return tuple(launcher({"CUDA_VISIBLE_DEVICES": gpu}) for gpu in gpus) or (launcher({}),)
