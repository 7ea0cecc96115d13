"""Tensor parallelism: the shards of a weight that is a DTensor, each with scales of its own.

    weight         x must be      y             dx            dw
    Shard(0)       Replicate      Shard(last)   Partial       Shard(0)     column-wise
    Shard(1)       Shard(last)    Partial       Shard(last)   Shard(1)     row-wise
    Replicate      as it is       as x          as x          Partial where x is sharded by tokens

x is redistributed if it must. The table holds for each dim of the mesh.
"""

import torch
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard

from kernels.layer.float8_linear import add_bias, check_operands
from kernels.layer.function import run
from kernels.layer.steps import Steps


def run_on_shards(steps: Steps, x: torch.Tensor, weight: DTensor, bias: torch.Tensor | None) -> DTensor:
    """y of x and a weight [out, in] in shards. Raises ValueError for a plain x and for an odd split."""
    if not isinstance(x, DTensor):
        raise ValueError(
            f"the weight is a DTensor ({weight.placements}) and x is a plain tensor: parallelize the layer "
            "with ColwiseParallel or RowwiseParallel, or call the module that unshards it"
        )
    last = x.ndim - 1
    rows = [_row(*dim, last) for dim in zip(weight.placements, x.placements, strict=True)]
    of_x, of_y, of_dx, of_dw = zip(*rows, strict=True)
    local_x = x.redistribute(placements=of_x).to_local(grad_placements=of_dx)
    local_w = weight.to_local(grad_placements=of_dw)
    check_operands(local_x, local_w, None)
    local_y = run(steps, local_x, (local_w,))
    shape = torch.Size((*x.shape[:-1], weight.shape[0]))
    strides = torch.empty(shape, device="meta").stride()
    y = DTensor.from_local(local_y, weight.device_mesh, of_y, run_check=False, shape=shape, stride=strides)
    return add_bias(y, bias)


def _row(w: Placement, x: Placement, last: int) -> tuple[Placement, Placement, Placement, Placement]:
    """Placements of x, y, dx and dw."""
    if w.is_shard(0):
        return Replicate(), Shard(last), Partial(), w
    if w.is_shard(1):
        return Shard(last), Partial(), Shard(last), w
    if not w.is_replicate():
        raise ValueError(f"a weight [out, in] is split by out, by in or not at all, got {w}")
    if x.is_shard() and not x.is_shard(last):
        return x, x, x, Partial()
    return Replicate(), Replicate(), Replicate(), Replicate()
