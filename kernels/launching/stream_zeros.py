"""Zeros that kernels count in and leave zero: no launch needs to clear them."""

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

from kernels.launching.driver import capture_id

if TYPE_CHECKING:
    import torch

WORDS = 4096
CPU = -1
"""torch's number of the CPU as a device."""
_STREAMS, _CAPTURES = 64, 8
_lock = Lock()
_of_streams: OrderedDict[tuple[int, ...], "torch.Tensor"] = OrderedDict()
"""By device and stream. Memory of a dropped entry goes to later work of that stream."""
_of_captures: OrderedDict[tuple[int, ...], "torch.Tensor"] = OrderedDict()
"""By device, stream and capture. A graph has its own zeros: it may be replayed on any stream, beside others.
They stay until the capture ends: else the graph would give their memory to another tensor.
"""


def stream_zeros(index: int, stream: int) -> "torch.Tensor":
    """int32[WORDS] of zeros for launches on a device's current stream, or for its graph."""
    import torch

    every, key, most = _of_streams, (index, stream), _STREAMS
    if index != CPU and torch.cuda.is_current_stream_capturing():
        every, key, most = _of_captures, (*key, capture_id(stream)), _CAPTURES
    zeros = every.get(key)
    if zeros is None:
        device = torch.device("cpu") if index == CPU else torch.device("cuda", index)
        fresh = torch.zeros(WORDS, dtype=torch.int32, device=device)
        with _lock:
            zeros = every.setdefault(key, fresh)
            while len(every) > most:
                every.popitem(last=False)
    return zeros
