"""Where workers run: one on each GPU that this process may use, else one on the CPU."""

import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from itertools import takewhile

from kernels.cores import cores
from kernels.nvml import Driver, driver
from kernels.paths import TOP
from kernels.worker.process import WorkerProcess
from kernels.worker.supervisor import Launch

_HELPERS, _CORES_A_HELPER = 6, 3
_COMMAND = (sys.executable, "-m", "kernels.worker")


def visible_gpus(environment: Mapping[str, str], driver: Callable[[], Driver] = driver) -> tuple[str, ...]:
    """The values that CUDA_VISIBLE_DEVICES may have, one a GPU; none where there is no driver."""
    if "CUDA_VISIBLE_DEVICES" in environment:
        entries = (entry.strip() for entry in environment["CUDA_VISIBLE_DEVICES"].split(","))
        return tuple(takewhile(lambda entry: entry and not entry.startswith("-"), entries))
    return driver().uuids


def launchers(gpus: tuple[str, ...]) -> tuple[Launch, ...]:
    """A launcher for each GPU, or one for the CPU."""

    environments: list[dict[str, str]] = [{"CUDA_VISIBLE_DEVICES": gpu} for gpu in gpus]
    return tuple(partial(worker_process, environment) for environment in environments or [{}])


def helpers(gpus: tuple[str, ...], able: int | None = None) -> tuple[Launch, ...]:
    """Launchers for processes that compile ahead: a few for each GPU, if this process has cores for them.

    able: the number of its cores, where it is not the machine that says it.
    """
    count = min(_HELPERS * len(gpus), (able or cores()) // _CORES_A_HELPER)
    return tuple(launchers(gpus)[number % len(gpus)] for number in range(count))


def worker_process(environment: Mapping[str, str]) -> WorkerProcess:
    """A new worker on this host, with these variables on top of this process's."""
    return WorkerProcess(_COMMAND, env={**project_path(), **environment})


def project_path() -> dict[str, str]:
    """The variable by which a process finds the project's modules, whatever its folder."""
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(TOP), os.environ.get("PYTHONPATH"))))}
