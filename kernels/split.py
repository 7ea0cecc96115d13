"""What programs that share a block of D pass each other: parts of its sum, and a count of who has come."""

from typing import TYPE_CHECKING

from kernels.blocks import Schedule
from kernels.plan import GemmPlan
from kernels.specialized_blocks import CONSUMERS

if TYPE_CHECKING:
    import torch

_STREAMS = 64
_BLOCKS = 4096
_rows: dict["torch.device", "torch.Tensor"] = {}
_row_of: dict[tuple["torch.device", int], int] = {}


def workspace(
    plan: GemmPlan, mnk: tuple[int, int, int], device: "torch.device"
) -> tuple["torch.Tensor | None", "torch.Tensor | None"]:
    """(parts float32[runs, M, N] with nothing in them, arrivals int32[blocks or more] of zeros); None twice
    where the plan has one run of K. In the warp-specialized schedule a part is float32[blocks, BLOCK_M,
    BLOCK_N] in an order of its own, and each warpgroup of a block counts for itself.

    The kernel leaves the arrivals zero, so a stream's launches, which run one after another, share them: no
    launch has to clear them. More than 64 streams, 4096 blocks, or a first launch under graph capture take
    fresh zeros each time.
    """
    import torch

    m, n, k = mnk
    runs, _ = plan.blocks.runs(k)
    if runs == 1:
        return None, None
    blocks, part = plan.blocks.count(m, n), (m, n)
    if plan.schedule is Schedule.SPECIALIZED:
        blocks, part = blocks * CONSUMERS, (blocks, plan.block_m, plan.block_n)
    parts = torch.empty((runs, *part), dtype=torch.float32, device=device)
    arrivals = _arrivals(device) if blocks <= _BLOCKS else None
    return parts, torch.zeros(blocks, dtype=torch.int32, device=device) if arrivals is None else arrivals


def _arrivals(device: "torch.device") -> "torch.Tensor | None":
    """The current stream's own row of zeros; None where there is none to have."""
    import torch

    stream = torch.cuda.current_stream(device).cuda_stream if device.type == "cuda" else 0
    if device not in _rows:
        if device.type == "cuda" and torch.cuda.is_current_stream_capturing():
            return None
        _rows[device] = torch.zeros((_STREAMS, _BLOCKS), dtype=torch.int32, device=device)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
    row = _row_of.setdefault((device, stream), sum(key[0] == device for key in _row_of))
    return _rows[device][row] if row < _STREAMS else None
