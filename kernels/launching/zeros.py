"""Zeros that kernels count in and leave zero: launches that follow each other need not clear them."""

import ctypes
from collections import OrderedDict
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

from kernels.launching.launch import supplied

if TYPE_CHECKING:
    import torch

WORDS = 4096
_CPU = -1
"""The number that torch gives the CPU as a device."""
_STREAMS = 64
_CAPTURES = 8
_lock = Lock()
_rows: dict["torch.device", "torch.Tensor"] = {}
_row_of: dict[tuple[int, int], "torch.Tensor | None"] = {}
"""A stream's row, by the numbers of its device and its own."""
_captured: OrderedDict[tuple["torch.device", int, int], "torch.Tensor"] = OrderedDict()


def zeros_of_stream(device: "torch.device") -> "torch.Tensor":
    """int32[WORDS] of zeros for launches of the current stream, or for those that it adds to one graph.

    A graph has zeros of its own, because it may be replayed on any stream, beside others. More than 64
    streams take fresh zeros each time.
    """
    import torch

    if device.type != "cuda":
        return supplied(_zeros, _CPU, 0)
    index = torch.cuda.current_device() if device.index is None else device.index
    return supplied(_zeros, index, torch.cuda.current_stream(index).cuda_stream)


def _zeros(index: int, stream: int) -> "torch.Tensor":
    """int32[WORDS] of zeros, by the numbers of a GPU and a stream."""
    import torch

    capturing = index != _CPU and torch.cuda.is_current_stream_capturing()
    known = None if capturing else _row_of.get((index, stream))
    if known is not None:
        return known
    device = torch.device("cpu") if index == _CPU else torch.device("cuda", index)
    if capturing:
        return _captured_row(device, stream, capture_id(stream))
    return _or_fresh(_row(device, stream), device)


def _or_fresh(row: "torch.Tensor | None", device: "torch.device") -> "torch.Tensor":
    """A row, or zeros for one launch."""
    import torch

    return torch.zeros(WORDS, dtype=torch.int32, device=device) if row is None else row


def _row(device: "torch.device", stream: int) -> "torch.Tensor | None":
    """A stream's own row of zeros; None where all are given away."""
    import torch

    index = _CPU if device.index is None else device.index
    with _lock:
        if device not in _rows:
            _rows[device] = torch.zeros((_STREAMS, WORDS), dtype=torch.int32, device=device)
            if device.type == "cuda":
                torch.cuda.synchronize(device)
        if (index, stream) not in _row_of:
            row = sum(key[0] == index for key in _row_of)
            _row_of[index, stream] = _rows[device][row] if row < _STREAMS else None
        return _row_of[index, stream]


def _captured_row(device: "torch.device", stream: int, capture: int) -> "torch.Tensor":
    """Zeros from the memory of the graph under capture. A replay clears them once, before the first launch.

    They are kept while the capture may go on: the graph would give their memory to another tensor otherwise.
    """
    import torch

    key = (device, stream, capture)
    with _lock:
        if key not in _captured:
            _captured[key] = torch.zeros(WORDS, dtype=torch.int32, device=device)
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
