"""What programs that share a block of D pass each other: parts of its sum, and a count of who has come."""

import ctypes
from collections import OrderedDict
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

from kernels.gemm.hopper.sizes import CONSUMERS
from kernels.gemm.plan import GemmPlan
from kernels.launching.launch import supplied

if TYPE_CHECKING:
    import torch

_STREAMS = 64
_BLOCKS = 4096
_CAPTURES = 8
_lock = Lock()
_rows: dict["torch.device", "torch.Tensor"] = {}
_row_of: dict[tuple["torch.device", int], "torch.Tensor | None"] = {}
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
    if blocks > _BLOCKS:
        return parts, torch.zeros(blocks, dtype=torch.int32, device=device)
    if device.type != "cuda":
        return parts, _or_fresh(_row(device, 0), device)
    index = parts.get_device()
    return parts, supplied(_arrivals, index, torch.cuda.current_stream(index).cuda_stream)


def _arrivals(index: int, stream: int) -> "torch.Tensor":
    """Zeros int32[4096] that only launches of a GPU's stream count in, or those that it adds to the graph it
    captures.
    """
    import torch

    device = torch.device("cuda", index)
    if torch.cuda.is_current_stream_capturing():
        return _captured_row(device, stream, capture_id(stream))
    return _or_fresh(_row(device, stream), device)


def _or_fresh(row: "torch.Tensor | None", device: "torch.device") -> "torch.Tensor":
    """A row, or zeros for one launch."""
    import torch

    return torch.zeros(_BLOCKS, dtype=torch.int32, device=device) if row is None else row


def _row(device: "torch.device", stream: int) -> "torch.Tensor | None":
    """A stream's own row of zeros; None where all are given away."""
    import torch

    known = _row_of.get((device, stream))
    if known is not None:
        return known
    with _lock:
        if device not in _rows:
            _rows[device] = torch.zeros((_STREAMS, _BLOCKS), dtype=torch.int32, device=device)
            if device.type == "cuda":
                torch.cuda.synchronize(device)
        if (device, stream) not in _row_of:
            row = sum(key[0] == device for key in _row_of)
            _row_of[device, stream] = _rows[device][row] if row < _STREAMS else None
        return _row_of[device, stream]


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
    info = _driver().cuStreamGetCaptureInfo
    error = info(ctypes.c_void_p(stream), ctypes.byref(status), ctypes.byref(number))
    if error:
        raise RuntimeError(f"CUDA gave error {error} when asked which graph the stream captures")
    return number.value


@cache
def _driver() -> ctypes.CDLL:
    """CUDA's driver, looked up once."""
    return ctypes.CDLL("libcuda.so.1")
