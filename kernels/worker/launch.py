"""Where workers run: one on each GPU that this process may use, else one on the CPU."""

import os
import subprocess
import sys
from collections.abc import Mapping
from itertools import takewhile

from kernels.check.smi import names_gpu
from kernels.paths import TOP
from kernels.worker.process import WorkerProcess
from kernels.worker.supervisor import Launch

_COMMAND = (sys.executable, "-m", "kernels.worker")
_ASK = ("nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader")
_ASK_SECONDS = 10


def visible_gpus(environment: Mapping[str, str], ask: tuple[str, ...] = _ASK) -> tuple[str, ...]:
    """What CUDA_VISIBLE_DEVICES may name, one entry a GPU; none where there is no driver."""
    if "CUDA_VISIBLE_DEVICES" in environment:
        entries = (entry.strip() for entry in environment["CUDA_VISIBLE_DEVICES"].split(","))
        return tuple(takewhile(lambda entry: entry and not entry.startswith("-"), entries))
    try:
        answer = subprocess.run(ask, capture_output=True, text=True, timeout=_ASK_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(line.strip() for line in answer.stdout.splitlines() if names_gpu(line))


def launchers(gpus: tuple[str, ...]) -> tuple[Launch, ...]:
    """A launcher for each GPU, or one for the CPU."""

    def launcher(environment: Mapping[str, str]) -> Launch:
        path = os.pathsep.join(filter(None, (str(TOP), os.environ.get("PYTHONPATH"))))
        return lambda: WorkerProcess(_COMMAND, env={"PYTHONPATH": path, **environment})

    return tuple(launcher({"CUDA_VISIBLE_DEVICES": gpu}) for gpu in gpus) or (launcher({}),)
