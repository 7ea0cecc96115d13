"""Torch's own operation for the same operands: what a kernel is compared with, in the same process.

Which one follows from the geometry of the scales. What torch has no operation for, or refuses, comes back as
one sentence.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fp8core.recipes import MatmulSpec
from fp8core.scales import ScaleKind
from fp8core.tiles import WHOLE, TileShape
from kernels.gemm import torch_dtype
from kernels.plan import K_PADDING, GemmPlan
from kernels.quantize import QuantizedTensor

if TYPE_CHECKING:
    import torch

Launch = Callable[[], "torch.Tensor"]

_TENSOR = TileShape(WHOLE, WHOLE)
_ROW = TileShape(1, WHOLE)
_LINE = TileShape(1, K_PADDING)
_SQUARE = TileShape(K_PADDING, K_PADDING)
_SCALE_ROWS = 4
REFUSALS = (ValueError, RuntimeError, NotImplementedError, AttributeError, TypeError)
"""What torch raises for what it does not do: TORCH_CHECK_VALUE, TORCH_CHECK, TORCH_CHECK_NOT_IMPLEMENTED, and
an older torch that lacks the function or one of its arguments. OutOfMemoryError is none of these here."""


def bf16_peer(a: "torch.Tensor", b: "torch.Tensor") -> Launch:
    """torch.mm of bf16 operands a [M, K] and b [N, K], any strides, to bf16."""
    import torch

    return lambda: torch.mm(a, b.T)


def scaled_peer(a: QuantizedTensor, b: QuantizedTensor, plan: GemmPlan) -> Launch | str:
    """Torch's scaled matmul of these operands, tried once; or why there is none.

    K goes in with the zeros that pad it: torch asks for a multiple of 16.
    Raises torch.OutOfMemoryError.
    """
    import torch

    if 0 in (*a.codes.shape, *b.codes.shape):
        return "an empty matmul has no torch counterpart to time"
    try:
        launch = _build(a, b, plan)
        if isinstance(launch, str):
            return launch
        launch()
        torch.cuda.synchronize(a.codes.device)
    except torch.OutOfMemoryError:
        raise
    except REFUSALS as error:
        return f"torch {torch.__version__} refuses this one: {str(error).splitlines()[0]}"
    return launch


def _build(a: QuantizedTensor, b: QuantizedTensor, plan: GemmPlan) -> Launch | str:
    import torch

    tiles = (plan.spec.a.tile, plan.spec.b.tile)
    left, right = a.padded_codes, b.padded_codes.T
    out = torch_dtype(plan.spec.out)
    fast = plan.promotion is WHOLE
    if not _fp32_scales(plan.spec):
        return _no_mx()
    if tiles == (_TENSOR, _TENSOR):
        scales = (a.scale.reshape(()), b.scale.reshape(()))
    elif tiles == (_ROW, _ROW):
        scales = (a.operand_scale.contiguous(), b.operand_scale.T.contiguous())
    else:
        return _build_blocks(a, b, tiles, left, right, out)
    return lambda: torch._scaled_mm(left, right, *scales, out_dtype=out, use_fast_accum=fast)


def _fp32_scales(spec: MatmulSpec) -> bool:
    return all(operand.scale.kind is ScaleKind.FP32 for operand in (spec.a, spec.b))


def _no_mx() -> str:
    import torch

    major, minor = torch.cuda.get_device_capability()
    return (
        "torch multiplies operands with power-of-two scales every few elements on Blackwell only "
        f"(capability 10.0), this GPU has {major}.{minor}"
        if major < 10
        else "torch's MXFP8 matmul on Blackwell wants swizzled E8M0 scales, which are not made here yet"
    )


def _build_blocks(
    a: QuantizedTensor,
    b: QuantizedTensor,
    tiles: tuple[TileShape, TileShape],
    left: "torch.Tensor",
    right: "torch.Tensor",
    out: "torch.dtype",
) -> Launch | str:
    from torch.nn.functional import ScalingType, scaled_mm

    kinds = {_LINE: ScalingType.BlockWise1x128, _SQUARE: ScalingType.BlockWise128x128}
    if not all(tile in kinds for tile in tiles):
        return f"torch has no scaled matmul for tiles {tiles[0]} · {tiles[1]}"
    a_scale, b_scale = _block_scale(a, tiles[0]), _block_scale(b, tiles[1])
    return lambda: scaled_mm(
        left, right, a_scale, kinds[tiles[0]], b_scale, kinds[tiles[1]], output_dtype=out
    )


def _block_scale(operand: QuantizedTensor, tile: TileShape) -> "torch.Tensor":
    """Scales as cuBLAS wants them: of lines [mn, K / 128], mn contiguous; of squares [K / 128 rounded up to a
    multiple of 4, mn / 128], K contiguous.
    """
    from torch.nn.functional import pad

    scale = operand.operand_scale
    if tile == _LINE:
        return scale
    return pad(scale, (0, -scale.shape[1] % _SCALE_ROWS)).contiguous().T
