from collections.abc import Callable
from typing import TYPE_CHECKING

from kernels.gemm.factor import Factor
from kernels.gemm.hopper.sizes import TMA_BYTES
from kernels.launching.launch import empty, operation

if TYPE_CHECKING:
    import torch


def is_aligned(out: "torch.Tensor") -> bool:
    """True if TMA moves a matrix: numbers of a row are neighbors, and rows start at multiples of 16 bytes."""
    aligned = out.data_ptr() % TMA_BYTES == 0 and out.stride(0) * out.itemsize % TMA_BYTES == 0
    return aligned and out.stride(1) == 1


def into_copy(launch: Callable[["torch.Tensor"], object], out: "torch.Tensor", accumulate: bool) -> object:
    """Launch into a copy of a D that TMA cannot write, and give `out` the copy's numbers."""
    import torch

    rows, columns = out.shape
    aligned = TMA_BYTES // out.itemsize
    copy = empty((rows, -(-columns // aligned) * aligned), out.dtype, out.device)[:, :columns]
    if accumulate:
        operation(torch.Tensor.copy_, copy, out)
    handle = launch(copy)
    operation(torch.Tensor.copy_, out, copy)
    return handle


def is_mn_major(operand: "torch.Tensor") -> bool:
    return operand.stride(1) != 1


def descriptor(matrix: "torch.Tensor", rows: int, columns: int) -> object:
    """TMA descriptor of a matrix, in blocks as wgmma has them in shared memory; of its transpose if columns
    are contiguous.
    """
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

    types = {
        "float8_e4m3fn": gl.float8e4nv,
        "float8_e5m2": gl.float8e5,
        "uint8": gl.uint8,
        "bfloat16": gl.bfloat16,
        "float32": gl.float32,
    }
    if is_mn_major(matrix):
        matrix, rows, columns = matrix.T, columns, rows
    dtype = types[str(matrix.dtype).removeprefix("torch.")]
    layout = gl.NVMMASharedLayout.get_default_for([rows, columns], dtype)
    return TensorDescriptor(matrix, list(matrix.shape), [matrix.stride(0), 1], [rows, columns], layout)


def scale_descriptor(scale: "torch.Tensor", count: int) -> object:
    """TMA descriptor of scales [k_tiles, mn_tiles] as one row of numbers, gaps between rows included."""
    span = (scale.shape[0] - 1) * scale.stride(0) + scale.shape[1]
    return _flat_descriptor(scale, [span], [1], [count])


def scale_rows_descriptor(scale: "torch.Tensor", tiles: int, count: int) -> object:
    """TMA descriptor of scales [k_tiles, rows]: those of `count` rows for some tiles along K come at once."""
    return _flat_descriptor(scale, list(scale.shape), [scale.stride(0), 1], [tiles, count])


def _flat_descriptor(scale: "torch.Tensor", shape: list[int], strides: list[int], box: list[int]) -> object:
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

    bits = 8 * scale.itemsize
    layout = gl.NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=bits, rank=len(box))
    return TensorDescriptor(scale, shape, strides, box, layout)


def loaded_scale(operand: Factor) -> "torch.Tensor":
    """float32[k_tiles, mn_tiles]: an operand's scales, copied where TMA cannot start at each of their rows.

    Scales of squares are not copied: each is loaded alone, from the last aligned place before it.
    """
    scale, tile = operand.scale, operand.numerics.applied(operand.side)
    alone = tile is None or tile.mn != 1 or scale.shape[0] == 1  # TMA sees one row of numbers
    return scale if alone else aligned(scale)


def aligned(scale: "torch.Tensor") -> "torch.Tensor":
    """Scales [k_tiles, mn_tiles], copied where TMA cannot start at each of their rows."""
    import torch

    step = TMA_BYTES // scale.itemsize
    k_tiles, mn_tiles = scale.shape
    if scale.stride(0) % step == 0:
        return scale
    copy = empty((k_tiles, -(-mn_tiles // step) * step), scale.dtype, scale.device)[:, :mn_tiles]
    operation(torch.Tensor.copy_, copy, scale)
    return copy
