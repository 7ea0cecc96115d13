"""The device that kernels run on: a CUDA GPU, or Triton's interpreter on the CPU.

Triton decides when it is imported whether kernels are compiled or interpreted, by TRITON_INTERPRET. So
nothing here imports Triton, and torch is imported only where a device is requested.
"""

import os
import re
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from fp8core.formats import FORMATS

if TYPE_CHECKING:
    import torch

_INTERPRET = "TRITON_INTERPRET"
_ON = ("1", "true", "on", "yes", "y")
_KHZ_A_MHZ = 1e3


COMPILE_OPTIONS = {"enable_fp_fusion": False}
"""A product and a sum are one rounding only where a kernel says `tl.fma`, whatever the default of a Triton:
3.10 changes it.
"""

KNOWN_TRITONS = ((3, 6), (3, 9))
"""The first and the last Triton whose Gluon the kernels were written for. It is experimental: names and
meanings change between versions. With any other Triton, the kernels in Gluon stay out of every plan, and
those in Triton's own language do their work.
"""

LEAST_TRITON = (3, 4)
"""The first Triton that compiles the kernels in Triton's own language: 3.3 does not take their constants."""


class Unsupported(ValueError):
    """Raised for something that cannot be done here; the text is one plain sentence for the reader."""

    @property
    def reason(self) -> str:
        return str(self)


class NoTriton(Unsupported):
    """Raised where Triton, or torch, is not installed."""


class DeviceKind(Enum):
    """The way a kernel runs; a page shows the value."""

    GPU = "GPU"
    INTERPRETER = "Triton interpreter"


@dataclass(frozen=True, kw_only=True)
class Device:
    """One device and its Triton's version. The interpreter has no capability; its blocks are Hopper's.

    clock_mhz is the highest SM clock. memory_gb_s is the bandwidth that the memory's clock and width allow.
    Either is 0 where it is unknown.
    """

    name: str
    kind: DeviceKind
    capability: tuple[int, int] | None
    sms: int
    l2_bytes: int
    shared_memory_bytes: int
    triton: tuple[int, int] = (3, 6)
    clock_mhz: float = 0.0
    memory_gb_s: float = 0.0

    @property
    def place(self) -> str:
        """The name that torch has for the GPU in use, by its number, or for the CPU: tensors go there."""
        if self.kind is not DeviceKind.GPU or compiles_only():
            return "cpu"
        import torch

        return f"cuda:{torch.cuda.current_device()}"


HOPPER = Device(
    name="NVIDIA H200",
    kind=DeviceKind.GPU,
    capability=(9, 0),
    sms=132,
    l2_bytes=60 << 20,
    shared_memory_bytes=227 << 10,
)
"""The GPU for which configurations are chosen; compile checks target it without having one."""

BLACKWELL = Device(
    name="NVIDIA B200",
    kind=DeviceKind.GPU,
    capability=(10, 0),
    sms=148,
    l2_bytes=126 << 20,
    shared_memory_bytes=227 << 10,
)

ADA = Device(
    name="NVIDIA L40S",
    kind=DeviceKind.GPU,
    capability=(8, 9),
    sms=142,
    l2_bytes=96 << 20,
    shared_memory_bytes=99 << 10,
)

BLACKWELL_RTX = Device(
    name="NVIDIA GeForce RTX 5090",
    kind=DeviceKind.GPU,
    capability=(12, 0),
    sms=170,
    l2_bytes=96 << 20,
    shared_memory_bytes=99 << 10,
)

INTERPRETER = Device(
    name=DeviceKind.INTERPRETER.value,
    kind=DeviceKind.INTERPRETER,
    capability=None,
    sms=1,
    l2_bytes=0,
    shared_memory_bytes=HOPPER.shared_memory_bytes,
)


_compiled_for: Device | None = None


def compile_for(device: Device) -> None:
    """Take a GPU for the one in use, which this process need not have; see kernels.precompile."""
    global _compiled_for
    _compiled_for = device


def compiles_only() -> bool:
    """True if this process compiles kernels for a GPU and runs none. Its tensors lie in the CPU's memory."""
    return _compiled_for is not None


def interpreting() -> bool:
    """True if this process's kernels run in Triton's interpreter."""
    return os.environ.get(_INTERPRET, "").lower() in _ON


def choose_backend() -> None:
    """Turn Triton's interpreter on where there is no CUDA GPU; call it before anything imports Triton.

    Raises NoTriton, Unsupported for an AMD GPU and for a Triton that is too old.
    """
    _require_triton()
    import torch

    if not interpreting():
        _refuse_amd()
    if not torch.cuda.is_available():
        os.environ.setdefault(_INTERPRET, "1")
    if interpreting():
        from kernels.interpreter import quickened

        quickened()


def current_device() -> Device:
    """The device that a launch from this process uses.

    Raises NoTriton where Triton is missing, Unsupported where it is too old or where there is neither an
    NVIDIA GPU nor the interpreter.
    """
    if _compiled_for is not None:
        return _compiled_for
    _require_triton()
    if interpreting():
        from kernels.interpreter import mend_indices

        mend_indices()
        return INTERPRETER
    import torch

    _refuse_amd()
    if not torch.cuda.is_available():
        raise Unsupported(
            f"there is no CUDA GPU here; set {_INTERPRET}=1 before Python starts to run the kernels in "
            "Triton's interpreter on the CPU"
        )
    return _gpu(torch.cuda.current_device())


@cache
def _gpu(index: int) -> Device:
    """A GPU of this process; its facts never change, and every GEMM asks for them."""
    import torch

    facts = torch.cuda.get_device_properties(index)
    return Device(
        name=facts.name,
        kind=DeviceKind.GPU,
        capability=(facts.major, facts.minor),
        sms=facts.multi_processor_count,
        l2_bytes=facts.L2_cache_size,
        shared_memory_bytes=facts.shared_memory_per_block_optin,
        triton=triton_version(),
        clock_mhz=getattr(facts, "clock_rate", 0) / _KHZ_A_MHZ,
        memory_gb_s=_memory_gb_s(facts),
    )


def _memory_gb_s(facts: Any) -> float:
    """The highest memory bandwidth: two transfers a clock cycle on every line of the bus."""
    khz, bits = getattr(facts, "memory_clock_rate", 0), getattr(facts, "memory_bus_width", 0)
    return 2 * khz * 1e3 * bits / 8 / 1e9


@cache
def triton_version() -> tuple[int, int]:
    """(major, minor) of the Triton that is installed; read once a process."""
    return parsed_triton(told_triton())


@cache
def told_triton() -> str:
    """The version of the Triton that is installed: of its package, or, under another name, of its module."""
    try:
        return version("triton")
    except PackageNotFoundError:  # PyTorch's nightly builds bring it as pytorch-triton
        import triton

        return str(triton.__version__)


def parsed_triton(told: str) -> tuple[int, int]:
    """(major, minor) of a version of Triton. Raises Unsupported for one without two numbers."""
    found = re.match(r"(\d+)\.(\d+)", told)
    if found is None:
        raise Unsupported(f"a version of Triton starts with two numbers, such as 3.6, got {told!r}")
    return int(found[1]), int(found[2])


def too_old(triton: tuple[int, int]) -> str:
    """The reason why no kernel runs with a Triton; empty where some do."""
    if triton >= LEAST_TRITON:
        return ""
    least, this = (".".join(map(str, each)) for each in (LEAST_TRITON, triton))
    return f"the kernels need Triton {least} or a later one, and this is {this}"


def lacks_gluon(triton: tuple[int, int]) -> str:
    """The reason why the kernels in Gluon do not run with a Triton; empty where they do."""
    first, last = KNOWN_TRITONS
    if first <= triton <= last:
        return ""
    this, since, until = (".".join(map(str, each)) for each in (triton, first, last))
    return f"the kernels in Gluon are for Triton {since} to {until} and this is {this}"


def slowed(triton: tuple[int, int], capability: tuple[int, int] | None) -> str:
    """A sentence on kernels that stay out of every plan with a Triton; empty where none do."""
    lacks = lacks_gluon(triton) if capability == HOPPER.capability else ""
    return f"{lacks}, so simpler kernels run, and slower ones" if lacks else ""


def amd_refusal(name: str, architecture: str, hip: str) -> str:
    """A sentence on why nothing runs on an AMD GPU. torch calls such a GPU cuda too."""
    own, here = FORMATS["e4m3fnuz"], FORMATS["e4m3"]
    return (
        f"{name} is an AMD GPU ({architecture or 'ROCm'} {hip}): the FP8 "
        f"tensor cores of the MI300 generation take the FNUZ formats ({own.name}: largest value "
        f"{own.max:g}, bias {own.bias}), the kernels here write {here.name} (largest value {here.max:g}, "
        f"bias {here.bias}) for NVIDIA GPUs."
    )


def _refuse_amd() -> None:
    """Raise Unsupported where torch is built for ROCm and finds a GPU."""
    import torch

    if torch.version.hip and torch.cuda.is_available():
        facts = torch.cuda.get_device_properties(torch.cuda.current_device())
        raise Unsupported(amd_refusal(facts.name, getattr(facts, "gcnArchName", ""), torch.version.hip))


def launching(x: "torch.Tensor") -> AbstractContextManager[object]:
    """Launches inside go to the GPU that holds x; in the interpreter, numpy keeps quiet about NaN and inf."""
    import torch

    return torch.cuda.device(x.device) if x.is_cuda else np.errstate(all="ignore")


def missing_package() -> NoTriton | None:
    """The reason why no kernel can run here; None where torch and Triton are installed. Imports neither."""
    for package in ("torch", "triton"):
        if find_spec(package) is None:
            return NoTriton(
                f"the kernels need {package}, which is not installed here (Triton exists for Linux only): "
                "everything but Live GEMM and python -m kernels works without it"
            )
    return None


def _require_triton() -> None:
    missing = missing_package()
    if missing is not None:
        raise missing
    if reason := too_old(triton_version()):
        raise Unsupported(reason)
