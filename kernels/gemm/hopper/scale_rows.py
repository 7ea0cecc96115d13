"""Scales along K as TMA reads them: each row of them starts at a multiple of 16 bytes."""

from typing import TYPE_CHECKING

from kernels.gemm.factor import Factor
from kernels.gemm.hopper.sizes import TMA_BYTES
from kernels.launching.launch import empty, operation

if TYPE_CHECKING:
    import torch


def loaded_scale(operand: Factor) -> "torch.Tensor":
    """float32[k_tiles, mn_tiles]: an operand's scales, copied where TMA cannot start at each of their rows.

    Rows of a copy have room behind them. Scales of squares are not copied: they are loaded one by one, from
    the last aligned place before each.
    """
    scale, tile = operand.scale, operand.numerics.applied(operand.side)
    alone = tile is None or tile.mn != 1 or scale.shape[0] == 1  # TMA sees one row of numbers
    return scale if alone else _aligned(scale)


def loaded_lines(operand: Factor) -> "torch.Tensor":
    """uint8[k_tiles, rows]: the scales of codes that a kernel decodes, copied where TMA cannot start at each
    of their rows.
    """
    return _aligned(operand.line_scale)


def _aligned(scale: "torch.Tensor") -> "torch.Tensor":
    """Scales [k_tiles, mn_tiles] with rows at multiples of 16 bytes."""
    import torch

    step = TMA_BYTES // scale.itemsize
    k_tiles, mn_tiles = scale.shape
    if scale.stride(0) % step == 0:
        return scale
    room = empty((k_tiles, -(-mn_tiles // step) * step), scale.dtype, scale.device)
    copy = room[:, :mn_tiles]
    operation(torch.Tensor.copy_, copy, scale)
    return copy
