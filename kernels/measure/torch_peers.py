"""Torch's own operations for the same operands: peers of a kernel, timed in the same process.

The geometry of the scales decides which operations are peers. Each is tried in every form that is at least as
exact; the fastest counts. Where torch has none, or refuses, a sentence says so.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from fp8core.formats import FORMATS
from fp8core.tiles import WHOLE, TileShape
from kernels.gemm.factor import GemmOperand
from kernels.gemm.launch import memory, operand_shape, torch_dtype
from kernels.gemm.numerics import takes_fp8
from kernels.gemm.plan import GemmPlan
from kernels.measure.jobs import Into
from kernels.quantize import QuantizedTensor
from kernels.quantize.facts import K_PADDING

REFUSALS = (ValueError, RuntimeError, NotImplementedError, AttributeError, TypeError)
"""Errors of TORCH_CHECK_VALUE, TORCH_CHECK, TORCH_CHECK_NOT_IMPLEMENTED, and of an older torch that lacks a
function or an argument.
"""


def attempt(launch: Callable[[], object], device: torch.device, *more: type[Exception]) -> Exception | None:
    """Launch once and wait; torch's error, or one of `more`, where it refuses. Raises OutOfMemoryError."""
    try:
        launch()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
    except torch.OutOfMemoryError:
        raise
    except (*more, *REFUSALS) as error:
        return error
    return None


Launch = Callable[[], torch.Tensor]

_TENSOR = TileShape(WHOLE, WHOLE)
_ROW = TileShape(1, WHOLE)
_LINE = TileShape(1, K_PADDING)
_SQUARE = TileShape(K_PADDING, K_PADDING)
_SCALE_ROWS = 4
"""cuBLAS reads 16 bytes of scales at once. Rows of scales that are no multiple make it fault, and the process
loses its GPU.
"""
_NAMES = {_TENSOR: "one scale a tensor", _ROW: "one scale a row"}
_BLOCKS = {_LINE: "BlockWise1x128", _SQUARE: "BlockWise128x128"}
_THEN_ADD = ", then D.add_ of it"


@dataclass(frozen=True)
class TorchOp:
    """One matmul of torch: its name, and a maker of its launch for two operands.

    adds: it adds its product into fp32 D, the maker's third argument.
    """

    title: str
    build: Callable[..., Launch]
    adds: bool = False

    def launch(self, a: GemmOperand, b: GemmOperand, out: torch.Tensor, into: Into) -> Launch:
        """Launch into a new tensor, or add to fp32 `out`, by another op if this one does not."""
        if self.adds:
            return self.build(a, b, out)
        product = self.build(a, b)
        return product if into is Into.NEW else lambda: out.add_(product())

    def named(self, into: Into) -> str:
        return self.title if self.adds or into is Into.NEW else self.title + _THEN_ADD


def bf16_peer(a: torch.Tensor, b: torch.Tensor) -> Launch:
    """torch.mm of bf16 a [M, K] and b [N, K], any strides, to bf16."""
    return lambda: torch.mm(a, b.T)


_BF16 = TorchOp("bf16 torch.mm", bf16_peer)
_BF16_TO_FP32 = TorchOp(
    "bf16 torch.mm, out_dtype=fp32", lambda a, b: lambda: torch.mm(a, b.T, out_dtype=torch.float32)
)
_BF16_ADDS = TorchOp(
    "bf16 torch.addmm into D, out_dtype=fp32",
    lambda a, b, d: lambda: torch.addmm(d, a, b.T, out_dtype=torch.float32, out=d),
    adds=True,
)


def fp8_peer(a: torch.Tensor, b: torch.Tensor) -> Launch:
    """torch._scaled_mm of bf16 a [M, K] and b [N, K] in e4m3 to bf16, summed in the tensor core alone.

    Each has one scale, which maps its amax to the format's maximum.
    """
    codes, scales = [], []
    for x in (a, b):
        scale = x.abs().amax().float() / torch.finfo(torch.float8_e4m3fn).max
        codes.append((x / scale).to(torch.float8_e4m3fn).contiguous())
        scales.append(scale)
    left, right = codes[0], codes[1].T
    return lambda: torch._scaled_mm(left, right, *scales, out_dtype=torch.bfloat16, use_fast_accum=True)


def bf16_ops(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor, into: Into) -> tuple[TorchOp, ...]:
    """Torch's bf16 matmuls into a new D like `out`, or added into an fp32 D.

    Where D is fp32, an op that rounds it to bf16 writes half the bytes: it is a peer only where torch has no
    other. Ops that an older torch may lack are tried once.
    """
    if into is Into.ACCUMULATE:
        refusal = _refusal(_BF16_ADDS.build(a, b, out.clone()), out.device)
        return (_BF16,) if refusal else (_BF16, _BF16_ADDS)
    has_op = out.dtype == torch.float32 and not _refusal(_BF16_TO_FP32.build(a, b), a.device)
    return (_BF16_TO_FP32 if has_op else _BF16,)


def _refusal(launch: Launch, device: torch.device) -> str:
    error = attempt(launch, device)
    return "" if error is None else str(error).splitlines()[0]


def scaled_ops(a: GemmOperand, b: GemmOperand, plan: GemmPlan) -> tuple[TorchOp, ...] | str:
    """Torch's ops that compute at least what the plan does, each tried once; or a sentence on why there is
    none.

    Where the plan sums in the tensor core alone, torch's more exact sum counts too, if it is faster.
    """
    candidates = candidate_ops(plan)
    if isinstance(candidates, str):
        return candidates
    refusals = {op: _refusal(lambda op=op: op.build(a, b)(), memory(a).device) for op in candidates}
    usable = tuple(op for op, refusal in refusals.items() if not refusal)
    return usable or f"torch {torch.__version__} refuses this one: {[*refusals.values()][-1]}"


def candidate_ops(plan: GemmPlan) -> tuple[TorchOp, ...] | str:
    operands = plan.numerics.operands
    if not operands.quantized:
        return "both operands stay bf16, so that torch.mm is torch's op for them"
    if not takes_fp8(operands):
        names = (FORMATS["bf16"].name if x is None else x.format.name for x in (operands.a, operands.b))
        return f"torch's scaled matmul takes FP8 codes on this GPU, not {' and '.join(names)}"
    tiles = (operands.a.tile, operands.b.tile)
    if any(operand.scale_rule.powers_of_two for operand in operands.quantized):
        major, minor = torch.cuda.get_device_capability()
        if major >= 10:
            return "torch's MXFP8 matmul on Blackwell wants swizzled E8M0 scales, which are not made here yet"
        return (
            "torch multiplies operands with power-of-two scales every few elements on Blackwell only "
            f"(capability 10.0), this GPU has {major}.{minor}"
        )
    if tiles[0] == tiles[1] and tiles[0] in _NAMES:
        kinds = (True, False) if plan.numerics.promotion is WHOLE else (False,)
        makers = (_whole_k_op, _unit_op) if tiles[0] == _ROW else (_whole_k_op,)
        return tuple(make(plan, fast) for make in makers for fast in kinds)
    if all(tile in _BLOCKS for tile in tiles):
        # Scales of 128 along K cut the sum in the tensor core into runs of 128, whatever is asked for.
        return tuple(_block_op(plan, fast) for fast in (True, False))
    return f"torch has no scaled matmul for tiles {tiles[0]} · {tiles[1]}"


def _whole_k_op(plan: GemmPlan, fast: bool) -> TorchOp:
    """torch._scaled_mm with K padded by zeros to a multiple of 16, which torch needs."""
    tile, out = plan.numerics.spec.a.tile, torch_dtype(plan.numerics.spec.out)

    def build(a: QuantizedTensor, b: QuantizedTensor) -> Launch:
        left, right = a.padded_codes, b.padded_codes.T
        if tile == _TENSOR:
            scales = (a.scale.reshape(()), b.scale.reshape(()))
        else:
            scales = (a.operand_scale.contiguous(), b.operand_scale.T.contiguous())
        return lambda: torch._scaled_mm(left, right, *scales, out_dtype=out, use_fast_accum=fast)

    return TorchOp(f"torch._scaled_mm, {_NAMES[tile]}, use_fast_accum={fast}", build)


def _unit_op(plan: GemmPlan, fast: bool) -> TorchOp:
    """torch._scaled_mm with unit scales to fp32, then times the rows' scales and the columns'.

    Three kernels instead of one: with few tokens they take less time than torch's rowwise kernel.
    """
    out = torch_dtype(plan.numerics.spec.out)

    def build(a: QuantizedTensor, b: QuantizedTensor) -> Launch:
        left, right = a.padded_codes, b.padded_codes.T
        rows, columns = a.operand_scale.contiguous(), b.operand_scale.T.contiguous()
        one = torch.ones((), device=rows.device)

        def launch() -> torch.Tensor:
            product = torch._scaled_mm(
                left, right, one, one, out_dtype=torch.float32, use_fast_accum=fast
            ).mul_(rows)
            return torch.mul(product, columns, out=torch.empty_like(product, dtype=out))

        return launch

    return TorchOp(f"torch._scaled_mm, unit scales, then × both scales, use_fast_accum={fast}", build)


def _block_op(plan: GemmPlan, fast: bool) -> TorchOp:
    """torch.nn.functional.scaled_mm with a scale for each block.

    Rows that are no multiple of _SCALE_ROWS are padded by zeros, outside of the time.
    """
    tiles, out = (plan.numerics.spec.a.tile, plan.numerics.spec.b.tile), torch_dtype(plan.numerics.spec.out)

    def build(a: QuantizedTensor, b: QuantizedTensor) -> Launch:
        from torch.nn.functional import ScalingType, scaled_mm

        m, n = operand_shape(a)[0], operand_shape(b)[0]
        left, right = _block_codes(a, tiles[0]), _block_codes(b, tiles[1]).T
        scales = _block_scale(a, tiles[0]), _block_scale(b, tiles[1])
        kinds = [getattr(ScalingType, _BLOCKS[tile]) for tile in tiles]
        options = {"output_dtype": out, "use_fast_accum": fast}

        def launch() -> torch.Tensor:
            return scaled_mm(left, right, scales[0], kinds[0], scales[1], kinds[1], **options)

        return launch if (m, n) == (left.shape[0], right.shape[1]) else lambda: launch()[:m, :n]

    title = " · ".join(_BLOCKS[tile] for tile in tiles)
    return TorchOp(f"torch.nn.functional.scaled_mm, {title}, use_fast_accum={fast}", build)


def _block_codes(operand: QuantizedTensor, tile: TileShape) -> torch.Tensor:
    codes = operand.padded_codes
    missing = -codes.shape[0] % _SCALE_ROWS if tile == _LINE else 0
    if not missing:
        return codes
    return torch.nn.functional.pad(codes.view(torch.uint8), (0, 0, 0, missing)).view(codes.dtype)


def _block_scale(operand: QuantizedTensor, tile: TileShape) -> torch.Tensor:
    """Scales in cuBLAS's layout.

    Of lines: [mn rounded up to a multiple of 4, K / 128], mn contiguous. Of squares: [K / 128 rounded up to a
    multiple of 4, mn / 128], K contiguous.
    """
    from torch.nn.functional import pad

    scale = operand.operand_scale
    if tile == _LINE:
        missing = -scale.shape[0] % _SCALE_ROWS
        return pad(scale.T, (0, missing)).contiguous().T if missing else scale
    return pad(scale, (0, -scale.shape[1] % _SCALE_ROWS)).contiguous().T
