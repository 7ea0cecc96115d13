"""What launchers call: each function does what it says, and writes it into the trace of a first call."""

from collections.abc import Callable, Hashable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from kernels.device import Device, DeviceKind, compiles_only, current_device
from kernels.launching.parameters import Scalar
from kernels.launching.stream_zeros import CPU, stream_zeros
from kernels.launching.stub import build_stub
from kernels.launching.trace import CONSTANTS, current_trace, storage_of

if TYPE_CHECKING:
    import torch

_P = ParamSpec("_P")
_T = TypeVar("_T")

_EARLY_CAPABILITY = (9, 0)
EARLY_OPTIONS = {"launch_pdl": True}
"""The options of a launch that starts while the kernel before it ends: kernels.launching.early_kernel."""


def early(kind: DeviceKind) -> dict[str, bool]:
    """The options and constants of a kernel with an argument EARLY."""
    able = kind is DeviceKind.GPU and starts_early(current_device())
    return {"EARLY": able, **(EARLY_OPTIONS if able else {})}


def starts_early(device: Device) -> bool:
    """True where a kernel starts while the one before it ends."""
    return (device.capability or (0, 0)) >= _EARLY_CAPABILITY


def launch(kernel: Any, grid: tuple[int, ...], *arguments: Any, **constants: Any) -> Any:
    """Launch a kernel of Triton's as `kernel[grid](...)` does; Triton's handle of what ran.

    A process that only compiles for a GPU compiles the kernel here, and nothing runs.
    """
    plain = [int(each) if isinstance(each, Scalar) else each for each in arguments]
    if compiles_only():
        compiled = kernel.warmup(*plain, grid=grid, **constants)
        build_stub(compiled)
        return compiled
    handle = kernel[grid](*plain, **constants)
    if (trace := current_trace()) is not None:
        trace.launched(handle, grid, arguments, constants)
    return handle


def empty(shape: "Sequence[int]", dtype: "torch.dtype", device: "torch.device") -> "torch.Tensor":
    """Contiguous memory with nothing in it."""
    import torch

    made = torch.empty(shape, dtype=dtype, device=device)
    if (trace := current_trace()) is not None:
        trace.allocated(made)
    return made


def filled(
    shape: "Sequence[int]", dtype: "torch.dtype", device: "torch.device", value: float = 0
) -> "torch.Tensor":
    """Contiguous memory with one value in it, zero unless another is given."""
    import torch

    made = empty(shape, dtype, device)
    if value:
        operation(torch.Tensor.fill_, made, value)
        return made
    made.zero_()
    if (trace := current_trace()) is not None:
        trace.cleared(made)
    return made


def converted(x: "torch.Tensor", dtype: "torch.dtype") -> "torch.Tensor":
    """x in a dtype: x itself where it has that."""
    import torch

    if x.dtype == dtype:
        return x
    made = x.to(dtype)
    if (trace := current_trace()) is not None:
        trace.allocated(made)
        trace.operation(torch.Tensor.copy_, (made, x))
    return made


def operation(function: "Callable[..., object]", *arguments: Any) -> None:
    """Run one of torch's operations that writes into its first argument; the others are tensors and numbers.

    A first call writes with torch in this way alone: a call like it would miss what it did otherwise.
    """
    function(*arguments)
    if (trace := current_trace()) is not None:
        trace.operation(function, arguments)


def zeros_of_stream(device: "torch.device") -> "torch.Tensor":
    """int32[WORDS] of zeros for launches of the current stream, or for those that it adds to one graph.

    The launches leave them zero.
    """
    import torch

    index, stream = CPU, 0
    if device.type == "cuda":
        index = torch.cuda.current_device() if device.index is None else device.index
        stream = torch.cuda.current_stream(index).cuda_stream
    zeros = stream_zeros(index, stream)
    if (trace := current_trace()) is not None:
        trace.took_zeros(zeros)
    return zeros


def constant(make: Callable[_P, _T]) -> Callable[_P, _T]:
    """Keep what a function makes for its arguments: a tensor, or several, that nothing ever writes again.

    What is made while a CUDA graph is captured is the graph's, and is not kept.
    """
    kept: dict[Hashable, _T] = {}

    @wraps(make)
    def once(*arguments: _P.args, **options: _P.kwargs) -> _T:
        key = arguments, *sorted(options.items())
        if key not in kept:
            made = make(*arguments, **options)
            if capturing():
                return made
            for each in made if isinstance(made, tuple) else (made,):
                CONSTANTS[storage_of(each)] = each
            kept.setdefault(key, made)
        return kept[key]

    return once


def capturing() -> bool:
    """True while the current stream's work goes into a CUDA graph."""
    import torch

    return torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()
