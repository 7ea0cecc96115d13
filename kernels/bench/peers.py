"""Torch's own operations for the same operands: the peers of a kernel, timed in the same process.

The geometry of the scales decides which operations are peers. Where torch has none, or refuses, a sentence
says so.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fp8core.formats import FORMATS
from fp8core.recipes import MatmulSpec, OperandSpec
from fp8core.tiles import WHOLE, TileShape
from kernels.bench.job import Into
from kernels.gemm.arithmetic import takes_fp8
from kernels.gemm.factor import GemmOperand
from kernels.gemm.launch import memory, operand_shape, torch_dtype
from kernels.gemm.plan import GemmPlan
from kernels.quantize import QuantizedTensor
from kernels.quantize.plan import K_PADDING

if TYPE_CHECKING:
    import torch

Launch = Callable[[], "torch.Tensor"]

_TENSOR = TileShape(WHOLE, WHOLE)
_ROW = TileShape(1, WHOLE)
_LINE = TileShape(1, K_PADDING)
_SQUARE = TileShape(K_PADDING, K_PADDING)
_SCALE_ROWS = 4
_NAMES = {_TENSOR: "one scale a tensor", _ROW: "one scale a row"}
_BLOCKS = {_LINE: "BlockWise1x128", _SQUARE: "BlockWise128x128"}
_THEN_ADD = ", then D.add_ of it"
REFUSALS = (ValueError, RuntimeError, NotImplementedError, AttributeError, TypeError)
"""What torch raises for what it does not do: TORCH_CHECK_VALUE, TORCH_CHECK, TORCH_CHECK_NOT_IMPLEMENTED, and
an older torch that lacks the function or one of its arguments. OutOfMemoryError is none of these here."""


@dataclass(frozen=True)
class ScaledOp:
    """One scaled matmul of torch: its name in words, and a function that makes a launch of it for two
    operands.
    """

    title: str
    build: Callable[[QuantizedTensor, QuantizedTensor], Launch]

    def launch(self, a: QuantizedTensor, b: QuantizedTensor, out: "torch.Tensor", into: Into) -> Launch:
        """Launch into a new tensor, or add to fp32 `out` as a user of torch must: torch has no op
        that adds.
        """
        product = self.build(a, b)
        return product if into is Into.NEW else lambda: out.add_(product())

    def named(self, into: Into) -> str:
        """The name of the op, with the sum that it makes."""
        return self.title if into is Into.NEW else self.title + _THEN_ADD


def bf16_peer(a: "torch.Tensor", b: "torch.Tensor", add_to: "torch.Tensor | None") -> Launch:
    """torch.mm of bf16 a [M, K] and b [N, K], any strides, to bf16.

    With an fp32 tensor, the result is added to it, as autograd adds a bf16 gradient to an fp32 one.
    """
    import torch

    return (lambda: torch.mm(a, b.T)) if add_to is None else lambda: add_to.add_(torch.mm(a, b.T))


def scaled_ops(a: GemmOperand, b: GemmOperand, plan: GemmPlan) -> tuple[ScaledOp, ...] | str:
    """Torch's ops that compute at least what the plan does, each tried once on these operands.

    Where there is none, a sentence says why. Where the plan sums in the tensor core alone, torch's more exact
    sum counts too, if it is faster.

    Raises torch.OutOfMemoryError.
    """
    import torch

    if 0 in (*operand_shape(a), *operand_shape(b)):
        return "an empty matmul has no torch counterpart to time"
    candidates = candidate_ops(plan)
    if isinstance(candidates, str):
        return candidates
    usable, refusal = [], ""
    for op in candidates:
        try:
            op.build(a, b)()
            torch.cuda.synchronize(memory(a).device)
        except torch.OutOfMemoryError:
            raise
        except REFUSALS as error:
            refusal = f"torch {torch.__version__} refuses this one: {str(error).splitlines()[0]}"
        else:
            usable.append(op)
    return tuple(usable) or refusal


def candidate_ops(plan: GemmPlan) -> tuple[ScaledOp, ...] | str:
    """The ops that torch has for a plan's scales, untried; or a sentence on why there is none."""
    operands = plan.meaning.operands
    if not operands.quantized:
        return "both operands stay bf16, so that torch.mm is torch's op for them"
    if not takes_fp8(operands):
        came = (_format(operand) for operand in (operands.a, operands.b))
        return f"torch's scaled matmul takes FP8 codes on this GPU, not {' and '.join(came)}"
    tiles = (operands.a.tile, operands.b.tile)
    if not _fp32_scales(operands):
        return _no_mx()
    if tiles[0] == tiles[1] and tiles[0] in _NAMES:
        kinds = (True, False) if plan.meaning.promotion is WHOLE else (False,)
        return tuple(_whole_k_op(plan, fast) for fast in kinds)
    if all(tile in _BLOCKS for tile in tiles):
        return (_block_op(plan),)
    return f"torch has no scaled matmul for tiles {tiles[0]} · {tiles[1]}"


def _format(operand: OperandSpec | None) -> str:
    return FORMATS["bf16"].name if operand is None else operand.format.name


def _whole_k_op(plan: GemmPlan, fast: bool) -> ScaledOp:
    """torch._scaled_mm with K padded by zeros, because torch asks for a multiple of 16."""
    import torch

    tile, out = plan.meaning.spec.a.tile, torch_dtype(plan.meaning.spec.out)

    def build(a: QuantizedTensor, b: QuantizedTensor) -> Launch:
        left, right = a.padded_codes, b.padded_codes.T
        if tile == _TENSOR:
            scales = (a.scale.reshape(()), b.scale.reshape(()))
        else:
            scales = (a.operand_scale.contiguous(), b.operand_scale.T.contiguous())
        return lambda: torch._scaled_mm(left, right, *scales, out_dtype=out, use_fast_accum=fast)

    return ScaledOp(f"torch._scaled_mm, {_NAMES[tile]}, use_fast_accum={fast}", build)


def _block_op(plan: GemmPlan) -> ScaledOp:
    """torch.nn.functional.scaled_mm with a scale for each block."""
    tiles, out = (plan.meaning.spec.a.tile, plan.meaning.spec.b.tile), torch_dtype(plan.meaning.spec.out)

    def build(a: QuantizedTensor, b: QuantizedTensor) -> Launch:
        from torch.nn.functional import ScalingType, scaled_mm

        left, right = a.padded_codes, b.padded_codes.T
        kinds = [getattr(ScalingType, _BLOCKS[tile]) for tile in tiles]
        a_scale, b_scale = _block_scale(a, tiles[0]), _block_scale(b, tiles[1])
        return lambda: scaled_mm(left, right, a_scale, kinds[0], b_scale, kinds[1], output_dtype=out)

    title = " · ".join(_BLOCKS[tile] for tile in tiles)
    return ScaledOp(f"torch.nn.functional.scaled_mm, {title}", build)


def _fp32_scales(spec: MatmulSpec) -> bool:
    return all(not operand.scale_rule.powers_of_two for operand in spec.quantized)


def _no_mx() -> str:
    import torch

    major, minor = torch.cuda.get_device_capability()
    return (
        "torch multiplies operands with power-of-two scales every few elements on Blackwell only "
        f"(capability 10.0), this GPU has {major}.{minor}"
        if major < 10
        else "torch's MXFP8 matmul on Blackwell wants swizzled E8M0 scales, which are not made here yet"
    )


def _block_scale(operand: QuantizedTensor, tile: TileShape) -> "torch.Tensor":
    """Scales in the layout that cuBLAS asks for.

    Scales of lines are [mn, K / 128], mn contiguous. Scales of squares are [K / 128 rounded up to a multiple
    of 4, mn / 128], K contiguous.
    """
    from torch.nn.functional import pad

    scale = operand.operand_scale
    if tile == _LINE:
        return scale
    return pad(scale, (0, -scale.shape[1] % _SCALE_ROWS)).contiguous().T
