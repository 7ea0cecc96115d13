"""The process that measures: its machine, date and commit; requests to stop; lack of memory."""

import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from platform import python_version
from typing import Any, TypeVar

import torch

from kernels.device import Device, DeviceKind, Unsupported, current_device, triton_release
from kernels.faults import first_line
from kernels.measure.jobs import StoppedEarly
from kernels.measure.operands import draws
from kernels.measure.peak_rates import Impossible, limits_of, measured_fault
from kernels.measure.rows import Machine, Recorded, Timing
from kernels.paths import ASSETS, TOP

_STAMP = ASSETS / "commit.txt"
"""Git writes the commit into it in an archive (.gitattributes). In a checkout it holds a pattern."""
_HASH = re.compile(r"[0-9a-f]{7,40}")
_LONGEST_S = 10.0
R = TypeVar("R", bound=Recorded)


@cache
def commit() -> str | None:
    """Short hash of this code's commit, "+" where tracked files have changed since; None without git or a
    stamp.
    """
    return looked_up(TOP, _STAMP)


def looked_up(top: Path, stamp: Path) -> str | None:
    try:
        if not (top / ".git").exists():
            text = stamp.read_text(encoding="utf-8").strip()
            return text if _HASH.fullmatch(text) else None
        command = ("git", "-C", top, "describe", "--always", "--exclude=*", "--dirty=+")  # no tag: a hash
        how = {"text": True, "stderr": subprocess.DEVNULL, "timeout": _LONGEST_S}
        return subprocess.check_output(command, **how).strip()
    except (OSError, subprocess.SubprocessError):
        return None


def require_gpu() -> Device:
    device = current_device()
    if device.kind is not DeviceKind.GPU:
        raise Unsupported(f"speed is a GPU's, and this is {device.name}: nothing was timed")
    return device


def halt_if(stopped: Callable[[], bool]) -> None:
    if stopped():
        raise StoppedEarly


@contextmanager
def memory(what: str) -> Iterator[None]:
    """Free the GPU's cached memory after a job. A lack of it becomes a MemoryError that names the job."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        draws.cache_clear()
        fault = f"{what} does not fit into the memory of this GPU: {first_line(error)}"
        raise MemoryError(fault) from error
    finally:
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()


def measured(kind: type[R], device: Device, under: Timing | None = None, **fields: Any) -> R:
    """A row of this process. under: the load whose clock and power the machine has. Raises Impossible for a
    figure that the GPU cannot reach.
    """
    row = kind(machine=machine_here(device, under), date=today(), commit=commit(), **fields)
    if fault := measured_fault(row, limits_of(device), device.l2_bytes):
        raise Impossible(fault)
    return row


def machine_here(device: Device, under: Timing | None = None) -> Machine:
    return Machine(
        name=device.name,
        capability=device.capability,
        versions={"python": python_version(), "torch": torch.__version__, "triton": triton_release()},
        clock_mhz=under and under.clock_mhz,
        power_w=under and under.power_w,
    )


def today() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d")
