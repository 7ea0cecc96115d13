"""What programs that share a block of D pass each other: parts of its sum, and a count of who has come."""

import ctypes
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

from kernels.gemm.hopper.sizes import CONSUMERS
from kernels.gemm.plan import GemmPlan

if TYPE_CHECKING:
    import torch

_STREAMS = 64
_BLOCKS = 4096
_CAPTURES = 8
_lock = Lock()
_rows: dict["torch.device", "torch.Tensor"] = {}
_row_of: dict[tuple["torch.device", int], int] = {}
_captured: OrderedDict[tuple["torch.device", int, int], "torch.Tensor"] = OrderedDict()


def workspace(
    plan: GemmPlan, mnk: tuple[int, int, int], device: "torch.device"
) -> tuple["torch.Tensor | None", "torch.Tensor | None"]:
    """(parts float32[runs, M, N] with nothing in them, arrivals int32[blocks or more] of zeros); None twice
    where the plan has one run of K. In a warp-specialized body a part is float32[blocks, BLOCK_M,
    BLOCK_N] in an order of its own, and each warpgroup of a block counts for itself.

    The kernel leaves the arrivals zero. So launches that run one after another share them, and no launch has
    to clear them: those of one stream, or those that one stream adds to one CUDA graph. A graph has arrivals
    of its own, because it may be replayed on any stream, beside others. More than 64 streams or 4096 blocks
    take fresh zeros each time.
    """
    import torch

    m, n, k = mnk
    runs, _ = plan.blocks.runs(k)
    if runs == 1:
        return None, None
    blocks, part = plan.blocks.count(m, n), (m, n)
    if not plan.body.is_simple:
        blocks, part = blocks * CONSUMERS, (blocks, plan.blocks.block_m, plan.blocks.block_n)
    parts = torch.empty((runs, *part), dtype=torch.float32, device=device)
    arrivals = _arrivals(device) if blocks <= _BLOCKS else None
    return parts, torch.zeros(blocks, dtype=torch.int32, device=device) if arrivals is None else arrivals


def _arrivals(device: "torch.device") -> "torch.Tensor | None":
    """Zeros int32[4096] that only the current stream's launches count in, or those that it adds to the graph
    it captures; None where there are none to have.
    """
    import torch

    if device.type != "cuda":
        return _row(device, 0)
    stream = torch.cuda.current_stream(device).cuda_stream
    if torch.cuda.is_current_stream_capturing():
        return _captured_row(device, stream, capture_id(stream))
    return _row(device, stream)


def _row(device: "torch.device", stream: int) -> "torch.Tensor | None":
    """A stream's own row of zeros; None where all are given away."""
    import torch

    with _lock:
        if device not in _rows:
            _rows[device] = torch.zeros((_STREAMS, _BLOCKS), dtype=torch.int32, device=device)
            if device.type == "cuda":
                torch.cuda.synchronize(device)
        row = _row_of.setdefault((device, stream), sum(key[0] == device for key in _row_of))
        return _rows[device][row] if row < _STREAMS else None


def _captured_row(device: "torch.device", stream: int, capture: int) -> "torch.Tensor":
    """Zeros from the memory of the graph under capture. A replay clears them once, before the first launch.

    They are kept while the capture may go on: the graph would give their memory to another tensor otherwise.
    """
    import torch

    key = (device, stream, capture)
    with _lock:
        if key not in _captured:
            _captured[key] = torch.zeros(_BLOCKS, dtype=torch.int32, device=device)
            while len(_captured) > _CAPTURES:
                _captured.popitem(last=False)
        return _captured[key]


def capture_id(stream: int) -> int:
    """The number that CUDA gives the capture which a stream takes part in; no other of the process has it.

    Source: CUDA driver API, cuStreamGetCaptureInfo. Raises RuntimeError where CUDA reports an error.
    """
    status, number = ctypes.c_int(), ctypes.c_uint64()
    info = ctypes.CDLL("libcuda.so.1").cuStreamGetCaptureInfo
    error = info(ctypes.c_void_p(stream), ctypes.byref(status), ctypes.byref(number))
    if error:
        raise RuntimeError(f"CUDA gave error {error} when asked which graph the stream captures")
    return number.value
