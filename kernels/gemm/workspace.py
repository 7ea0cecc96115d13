"""Split-K workspace: fp32 partial sums and arrival counters."""

from typing import TYPE_CHECKING

from kernels.gemm.hopper.sizes import CONSUMERS
from kernels.gemm.plan import GemmPlan
from kernels.launching.launch import empty, filled, zeros_of_stream
from kernels.launching.stream_zeros import WORDS

if TYPE_CHECKING:
    import torch


def workspace(
    plan: GemmPlan, mnk: tuple[int, int, int], device: "torch.device"
) -> tuple["torch.Tensor | None", "torch.Tensor | None"]:
    """(parts float32[splits, M, N], uninitialized; arrivals int32[blocks or more] of zeros); None twice
    without split-K.

    A warp-specialized variant has parts float32[splits, blocks, BLOCK_M, BLOCK_N] in the order of its
    threads, and a counter for each warpgroup of a block. The kernel leaves the arrivals zero, so launches of
    one stream, or of one CUDA graph, share them: a graph may be replayed beside others. More than WORDS
    blocks take fresh zeros.
    """
    import torch

    m, n, k = mnk
    splits, _ = plan.blocks.splits(k)
    if splits == 1:
        return None, None
    blocks, part = plan.blocks.count(m, n), (m, n)
    if not plan.variant.is_simple:
        blocks, part = blocks * CONSUMERS, (blocks, plan.blocks.block_m, plan.blocks.block_n)
    parts = empty((splits, *part), torch.float32, device)
    if blocks > WORDS:
        return parts, filled((blocks,), torch.int32, device)
    return parts, zeros_of_stream(device)
