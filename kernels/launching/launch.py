"""Functions for launchers: each does its work and records it in the trace of a first call."""

import subprocess
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from kernels.device import COMPILE_OPTIONS, DeviceKind, compiles_only, current_device
from kernels.launching.cache_keys import hash_callees_first
from kernels.launching.parameters import Scalar
from kernels.launching.stream_zeros import CPU, stream_zeros
from kernels.launching.trace import CONSTANTS, current_trace, storage_of

if TYPE_CHECKING:
    import torch

_P = ParamSpec("_P")
_T = TypeVar("_T")

_EARLY_CAPABILITY = (9, 0)
EARLY_OPTIONS = {"launch_pdl": True}
"""Options of a launch that starts while the kernel before ends: kernels.launching.early_kernel."""


def early(kind: DeviceKind) -> dict[str, bool]:
    """Options and constants of a kernel with an argument EARLY."""
    able = kind is DeviceKind.GPU and (current_device().capability or (0, 0)) >= _EARLY_CAPABILITY
    return {"EARLY": able, **(EARLY_OPTIONS if able else {})}


def launch(kernel: Any, grid: tuple[int, ...], *arguments: Any, **constants: Any) -> Any:
    """Launch a Triton kernel as `kernel[grid](...)` does, with COMPILE_OPTIONS; returns Triton's handle.

    A process that only compiles for a GPU compiles the kernel here, and nothing runs.
    """
    constants |= COMPILE_OPTIONS
    plain = [int(each) if isinstance(each, Scalar) else each for each in arguments]
    hash_callees_first(kernel)
    if compiles_only():
        compiled = kernel.warmup(*plain, grid=grid, **constants)
        build_stub(compiled)
        return compiled
    handle = kernel[grid](*plain, **constants)
    if (trace := current_trace()) is not None:
        trace.add_launch(handle, grid, arguments, constants)
    return handle


@cache
def build_stub(compiled: Any) -> None:
    """Build the C function by which Triton 3.6 launches kernels of one signature; it stays on disk.

    gcc takes 0.3 s at the first launch, for 24 functions in a check. Triton 3.7 has one for all kernels.
    Without a C compiler or NVIDIA's driver nothing is built here: a launch reports the fault.
    """
    from triton.backends.nvidia import driver

    if hasattr(driver, "make_launcher"):
        with suppress(AssertionError, ImportError, OSError, RuntimeError, subprocess.SubprocessError):
            driver.CudaLauncher(compiled.src, compiled.metadata)


def empty(shape: "Sequence[int]", dtype: "torch.dtype", device: "torch.device") -> "torch.Tensor":
    """Contiguous memory, uninitialized."""
    import torch

    memory = torch.empty(shape, dtype=dtype, device=device)
    if (trace := current_trace()) is not None:
        trace.add_allocation(memory)
    return memory


def filled(
    shape: "Sequence[int]", dtype: "torch.dtype", device: "torch.device", value: float = 0
) -> "torch.Tensor":
    """Contiguous memory with one value."""
    import torch

    memory = empty(shape, dtype, device)
    if value:
        operation(torch.Tensor.fill_, memory, value)
        return memory
    memory.zero_()
    if (trace := current_trace()) is not None:
        trace.add_clear(memory)
    return memory


def converted(x: "torch.Tensor", dtype: "torch.dtype") -> "torch.Tensor":
    """x in a dtype; x itself if it has the dtype."""
    import torch

    if x.dtype == dtype:
        return x
    copy = x.to(dtype)
    if (trace := current_trace()) is not None:
        trace.add_allocation(copy)
        trace.add_operation(torch.Tensor.copy_, (copy, x))
    return copy


def copied(x: "torch.Tensor", target: "torch.Tensor") -> None:
    """Copy x into contiguous memory. Later calls write x there directly if x fills its storage.

    Nothing may write x afterwards.
    """
    trace = current_trace()
    if trace is not None and trace.add_target(x, target):
        target.copy_(x)
    else:
        operation(type(x).copy_, target, x)


def operation(function: "Callable[..., object]", *arguments: Any) -> None:
    """Run an operation of torch that writes into its first argument; the others are tensors and numbers.

    Later calls would miss any other write of torch's.
    """
    function(*arguments)
    if (trace := current_trace()) is not None:
        trace.add_operation(function, arguments)


def zeros_of_stream(device: "torch.device") -> "torch.Tensor":
    """int32[WORDS] of zeros for launches of the current stream or its graph, which leave them zero."""
    import torch

    index, stream = CPU, 0
    if device.type == "cuda":
        index = torch.cuda.current_device() if device.index is None else device.index
        stream = torch.cuda.current_stream(index).cuda_stream
    zeros = stream_zeros(index, stream)
    if (trace := current_trace()) is not None:
        trace.add_zeros(zeros)
    return zeros


def constant(make: Callable[_P, _T]) -> Callable[_P, _T]:
    """Cache a function's tensors by its arguments; nothing may write to them.

    During the capture of a CUDA graph nothing is cached: the memory is the graph's.
    """
    values: dict[Hashable, _T] = {}

    @wraps(make)
    def once(*arguments: _P.args, **options: _P.kwargs) -> _T:
        key = arguments, *sorted(options.items())
        if key not in values:
            value = make(*arguments, **options)
            if capturing():
                return value
            for each in value if isinstance(value, tuple) else (value,):
                CONSTANTS[storage_of(each)] = each
            values.setdefault(key, value)
        return values[key]

    return once


def capturing() -> bool:
    """True while the current stream's work goes into a CUDA graph."""
    import torch

    return torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()
