"""How launchers launch a kernel, whether the call is on record or not."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
from threading import get_ident
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from kernels.device import Device, DeviceKind, compiles_only, current_device
from kernels.launching.parameters import Word
from kernels.launching.tape import Supplier

if TYPE_CHECKING:
    import torch

    from kernels.launching.recording import Recording

_P = ParamSpec("_P")
_T = TypeVar("_T")
_recordings: "dict[int, Recording]" = {}
"""The recordings under way, by the number of the thread that makes one. A thread of autograd's may be new in
each call, and then memory of a thread's own is made anew.
"""

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

    Every launcher calls this: a recording would not hear of a launch that it makes itself. A process that
    only compiles for a GPU compiles the kernel here, and nothing runs.
    """
    plain = [int(each) if isinstance(each, Word) else each for each in arguments]
    if compiles_only():
        return kernel.warmup(*plain, grid=grid, **constants)
    handle = kernel[grid](*plain, **constants)
    recording = recording_here()
    if recording is not None:
        recording.launched(handle, grid, arguments, constants)
    return handle


def recording_here() -> "Recording | None":
    """The recording that this thread makes; None where it makes none."""
    return _recordings.get(get_ident()) if _recordings else None


def unrecorded() -> AbstractContextManager[None]:
    """What this thread does inside is left out of its recording."""
    recording = recording_here()
    return nullcontext() if recording is None else recording.paused()


@contextmanager
def on_record(recording: "Recording") -> Iterator[None]:
    """Launches of this thread are told to a recording."""
    thread = get_ident()
    _recordings[thread] = recording
    try:
        with recording:
            yield
    finally:
        del _recordings[thread]


def constant(make: Callable[_P, _T]) -> Callable[_P, _T]:
    """Keep what a function makes for its arguments: a tensor, or several, that nothing ever writes again.

    What is made while a CUDA graph is captured is the graph's, and is not kept.
    """
    made_of: dict[Hashable, _T] = {}

    @wraps(make)
    def kept(*arguments: _P.args, **options: _P.kwargs) -> _T:
        key, recording = (arguments, *sorted(options.items())), recording_here()
        if key not in made_of:
            if _capturing():
                return make(*arguments, **options)
            with unrecorded():
                made_of.setdefault(key, make(*arguments, **options))
        made = made_of[key]
        if recording is not None:
            recording.keep(made)
        return made

    return kept


def _capturing() -> bool:
    """True while the current stream's work goes into a CUDA graph."""
    import torch

    return torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()


def supplied(supplier: Supplier, device: int, stream: int) -> "torch.Tensor":
    """Memory of a stream's own, by its supplier. A tape asks for it in each call."""
    recording = recording_here()
    if recording is None:
        return supplier(device, stream)
    with recording.paused():
        tensor = supplier(device, stream)
    recording.supplied(tensor, supplier)
    return tensor


def tensors_in(made: Any) -> "Sequence[torch.Tensor]":
    """The tensors of what a function made: one, or a tuple of some."""
    return [each for each in (made if isinstance(made, tuple) else (made,)) if hasattr(each, "data_ptr")]
