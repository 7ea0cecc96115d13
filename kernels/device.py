"""The device of kernels: a CUDA GPU, or Triton's interpreter on the CPU.

Triton reads TRITON_INTERPRET when it is imported. So nothing here imports Triton, and torch is imported only
for a device.
"""

import os
import re
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from fp8core.formats import FORMATS

if TYPE_CHECKING:
    import torch

_INTERPRET = "TRITON_INTERPRET"
_ON = ("1", "true", "on", "yes", "y")

COMPILE_OPTIONS = {"enable_fp_fusion": False}
"""Only `tl.fma` rounds a product and a sum once. Triton 3.10 changes the default."""

KNOWN_TRITONS = ((3, 6), (3, 9))
"""The first and the last Triton for the kernels in Gluon, which is experimental and changes.

Another Triton runs only the kernels in Triton's own language.
"""

LEAST_TRITON = (3, 4)
"""The first Triton that compiles the other kernels: 3.3 does not take their constants."""


class Unsupported(ValueError):
    """Raised for something that cannot be done here, in one plain sentence for the reader."""

    @property
    def reason(self) -> str:
        return str(self)


class NoTriton(Unsupported):
    """Raised if Triton or torch is not installed."""


class DeviceKind(Enum):
    """The way a kernel runs; a page shows the value."""

    GPU = "GPU"
    INTERPRETER = "Triton interpreter"


@dataclass(frozen=True, kw_only=True)
class Device:
    """One device and its Triton's version. The interpreter has no capability; its blocks are Hopper's.

    clock_mhz: the highest SM clock. memory_gb_s: the bandwidth of the memory's clock and width. 0: unknown.
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
        """torch's name of the GPU in use or of the CPU, for tensors."""
        if self.kind is not DeviceKind.GPU or compiles_only():
            return "cpu"
        import torch

        return f"cuda:{torch.cuda.current_device()}"


def _nvidia(name: str, capability: tuple[int, int], *, sms: int, l2_mib: int, shared_kib: int) -> Device:
    return Device(
        name=f"NVIDIA {name}",
        kind=DeviceKind.GPU,
        capability=capability,
        sms=sms,
        l2_bytes=l2_mib << 20,
        shared_memory_bytes=shared_kib << 10,
    )


HOPPER = _nvidia("H200", (9, 0), sms=132, l2_mib=60, shared_kib=227)
"""The GPU for which configurations are chosen and compile checks compile."""
BLACKWELL = _nvidia("B200", (10, 0), sms=148, l2_mib=126, shared_kib=227)
ADA = _nvidia("L40S", (8, 9), sms=142, l2_mib=96, shared_kib=99)
BLACKWELL_RTX = _nvidia("GeForce RTX 5090", (12, 0), sms=170, l2_mib=96, shared_kib=99)
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
    """Make a GPU the one in use, which this process need not have; see kernels.precompile."""
    global _compiled_for
    _compiled_for = device


def compiles_only() -> bool:
    """True if this process compiles kernels for a GPU and runs none. Its tensors are on the CPU."""
    return _compiled_for is not None


def interpreting() -> bool:
    """True if this process's kernels run in Triton's interpreter."""
    return os.environ.get(_INTERPRET, "").lower() in _ON


def choose_backend() -> None:
    """Without a CUDA GPU, turn Triton's interpreter on. Call this before Triton is imported.

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
    """The device of this process's launches.

    Raises NoTriton, Unsupported for a Triton that is too old, and without both an NVIDIA GPU and the
    interpreter.
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
    """A GPU of this process, looked up once: every GEMM needs it."""
    import torch

    facts = torch.cuda.get_device_properties(index)
    memory_khz, bus_bits = getattr(facts, "memory_clock_rate", 0), getattr(facts, "memory_bus_width", 0)
    return Device(
        name=facts.name,
        kind=DeviceKind.GPU,
        capability=(facts.major, facts.minor),
        sms=facts.multi_processor_count,
        l2_bytes=facts.L2_cache_size,
        shared_memory_bytes=facts.shared_memory_per_block_optin,
        triton=triton_version(),
        clock_mhz=getattr(facts, "clock_rate", 0) / 1e3,
        # Two transfers a clock cycle on every line of the bus.
        memory_gb_s=2 * memory_khz * 1e3 * bus_bits / 8 / 1e9,
    )


@cache
def triton_version() -> tuple[int, int]:
    """(major, minor) of the installed Triton."""
    return parse_triton(triton_release())


@cache
def triton_release() -> str:
    """The version of the installed Triton, of its package or module."""
    try:
        return version("triton")
    except PackageNotFoundError:  # PyTorch's nightly builds bring it as pytorch-triton
        import triton

        return str(triton.__version__)


def parse_triton(release: str) -> tuple[int, int]:
    """(major, minor) of a version of Triton. Raises Unsupported for one without two numbers."""
    numbers = re.match(r"(\d+)\.(\d+)", release)
    if numbers is None:
        raise Unsupported(f"a version of Triton starts with two numbers, such as 3.6, got {release!r}")
    return int(numbers[1]), int(numbers[2])


def too_old(triton: tuple[int, int]) -> str:
    """The reason why no kernel runs with a Triton, or ""."""
    if triton >= LEAST_TRITON:
        return ""
    least, this = (".".join(map(str, each)) for each in (LEAST_TRITON, triton))
    return f"the kernels need Triton {least} or a later one, and this is {this}"


def lacks_gluon(triton: tuple[int, int]) -> str:
    """The reason why the kernels in Gluon do not run with a Triton, or ""."""
    first, last = KNOWN_TRITONS
    if first <= triton <= last:
        return ""
    this, since, until = (".".join(map(str, each)) for each in (triton, first, last))
    return f"the kernels in Gluon are for Triton {since} to {until} and this is {this}"


def slowed(triton: tuple[int, int], capability: tuple[int, int] | None) -> str:
    """A sentence on kernels that no plan has with a Triton, or ""."""
    lacks = lacks_gluon(triton) if capability == HOPPER.capability else ""
    return f"{lacks}, so simpler kernels run, and slower ones" if lacks else ""


def amd_refusal(name: str, architecture: str, hip: str) -> str:
    own, here = FORMATS["e4m3fnuz"], FORMATS["e4m3"]
    return (
        f"{name} is an AMD GPU ({architecture or 'ROCm'} {hip}): the FP8 "
        f"tensor cores of the MI300 generation take the FNUZ formats ({own.name}: largest value "
        f"{own.max:g}, bias {own.bias}), the kernels here write {here.name} (largest value {here.max:g}, "
        f"bias {here.bias}) for NVIDIA GPUs."
    )


def _refuse_amd() -> None:
    """Raise Unsupported for a GPU of ROCm, which torch calls cuda too."""
    import torch

    if torch.version.hip and torch.cuda.is_available():
        facts = torch.cuda.get_device_properties(torch.cuda.current_device())
        raise Unsupported(amd_refusal(facts.name, getattr(facts, "gcnArchName", ""), torch.version.hip))


def launch_context(x: "torch.Tensor") -> AbstractContextManager[object]:
    """Context of launches on x's GPU; in the interpreter, numpy does not warn about NaN and inf."""
    import torch

    return torch.cuda.device(x.device) if x.is_cuda else np.errstate(all="ignore")


def missing_package() -> NoTriton | None:
    """The reason why no kernel can run here; None if torch and Triton are installed. Imports neither."""
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
