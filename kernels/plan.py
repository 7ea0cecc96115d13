"""Launch decisions as data: which kernel, which blocks, where the scale is applied. Pure; no torch, no GPU.

A tile (numerics) is not a block (speed): nothing here changes a result beyond the order of its sums.
"""

from dataclasses import dataclass, replace
from enum import Enum
from math import prod

from fp8core.accumulators import ACCUMULATORS, Accumulator
from fp8core.formats import FORMATS, Format, Specials
from fp8core.recipes import MatmulSpec, OperandSpec
from fp8core.rounding import Rounding
from fp8core.scales import ScaleKind
from fp8core.tiles import WHOLE, Extent, TileShape
from kernels.device import Device, DeviceKind, Unsupported
from kernels.rows import Accumulation

K_PADDING = 128
"""Codes are stored with zeros up to a multiple of this along K: what TMA and torch's own ops ask for."""

INTERPRETER_SIDE = 512
"""The interpreter takes M · N · K up to this cubed, each rounded up to K_PADDING: seconds, not minutes."""

MIN_CAPABILITY = (8, 9)
_HOPPER, _BLACKWELL, _AFTER_BLACKWELL = (9, 0), (10, 0), (12, 0)
_SCALES = (ScaleKind.FP32, ScaleKind.E8M0_FLOOR, ScaleKind.E8M0_ROUND_UP)
_FUSED_ELEMENTS = 128 * 128
_QUANTIZE_MN, _QUANTIZE_K = 64, 128
DEQUANTIZE_BLOCK = (64, 128)
_DOT_SCALE_TILE = 32
_MIN_DOT_K = 32
_BF16_BLOCK_K = 64
_LOW = 64


class Kernel(Enum):
    """Which body runs."""

    FP8 = "fp8 tensor core"
    DEQUANTIZED = "dequantized to bf16, bf16 tensor core"
    NATIVE_MX = "scaled tensor core"


class ScaleAt(Enum):
    """Where the scales come in."""

    EPILOGUE = "scales in the epilogue"
    K_LOOP = "scales in the K loop"
    OPERANDS = "scales on the operands"


@dataclass(frozen=True, kw_only=True)
class GemmPlan:
    """One launch decision. `promotion` is the number of products after which the sum goes to fp32 registers;
    `programs` that of persistent programs, 0 for one a block."""

    spec: MatmulSpec
    kernel: Kernel
    scale_at: ScaleAt
    promotion: Extent
    block_m: int
    block_n: int
    block_k: int
    group_m: int
    warps: int
    stages: int
    programs: int = 0

    @property
    def accumulator(self) -> Accumulator:
        """How the tensor core adds under this plan, on Hopper."""
        if self.kernel is Kernel.FP8 and self.promotion is WHOLE:
            return ACCUMULATORS["hopper_fast"]
        if self.kernel is Kernel.FP8:
            return replace(ACCUMULATORS["hopper_promoted"], promotion=self.promotion)
        return ACCUMULATORS["hopper_bf16"]

    @property
    def title(self) -> str:
        """The plan in words, for a result's row."""
        persistent = f", {self.programs} persistent programs" if self.programs else ""
        promoted = "" if self.promotion is WHOLE else f", promoted every {self.promotion}"
        return (
            f"{self.kernel.value}, {self.scale_at.value}{promoted}; block {self.block_m}×{self.block_n}×"
            f"{self.block_k}, {self.warps} warps, {self.stages} stages{persistent}"
        )


@dataclass(frozen=True, kw_only=True)
class QuantizePlan:
    """Blocks of the quantizer. A block is cut into parts that lie in one tile each; `fused` says that a part
    is a tile, so that one pass over the data is enough.
    """

    block_mn: int
    block_k: int
    part_mn: int
    part_k: int
    fused: bool
    warps: int


def plan_quantize(tile: TileShape) -> QuantizePlan:
    """The blocks for a tile, of any extents: one pass where a tile fits a block, else two."""
    mn, k = _power_of_two_in(tile.mn), _power_of_two_in(tile.k)
    if (mn, k) == (tile.mn, tile.k) and mn * k <= _FUSED_ELEMENTS:
        block_k = max(k, min(_QUANTIZE_K, _FUSED_ELEMENTS // mn))
        block_mn = max(mn, min(_QUANTIZE_MN, _FUSED_ELEMENTS // block_k))
        return QuantizePlan(block_mn=block_mn, block_k=block_k, part_mn=mn, part_k=k, fused=True, warps=8)
    return QuantizePlan(
        block_mn=_QUANTIZE_MN,
        block_k=_QUANTIZE_K,
        part_mn=min(mn or _QUANTIZE_MN, _QUANTIZE_MN),
        part_k=min(k or _QUANTIZE_K, _QUANTIZE_K),
        fused=False,
        warps=8,
    )


def _power_of_two_in(extent: Extent) -> int:
    """The largest power of two that divides an extent; 0 for WHOLE."""
    return 0 if extent is WHOLE else extent & -extent


def check_operand(spec: OperandSpec) -> Unsupported | None:
    """Why the device quantizer cannot do `spec`; None where it can."""
    if spec.format.bits != 8 or spec.format.specials is Specials.SCALE:
        return Unsupported(f"the kernels quantize to e4m3 and e5m2, not to {spec.format.name}")
    if spec.rounding is not Rounding.NEAREST_EVEN:
        return Unsupported(f"the kernels round to nearest even, not {spec.rounding.value}")
    if spec.scale.kind not in _SCALES:
        return Unsupported(f"the kernels have no scale that is {spec.scale.kind.value}")
    return None


def plan_gemm(
    spec: MatmulSpec, mnk: tuple[int, int, int], device: Device, accumulation: Accumulation
) -> GemmPlan | Unsupported:
    """The fastest way to run D[M, N] = A[M, K] · B[N, K]ᵀ on a device, or one sentence saying why not."""
    return plan_simple(spec, mnk, device, accumulation)


def plan_simple(
    spec: MatmulSpec, mnk: tuple[int, int, int], device: Device, accumulation: Accumulation
) -> GemmPlan | Unsupported:
    """The same by the simple `tl` kernel, which runs on every GPU and in the interpreter."""
    reason = _refusal(spec, mnk, device)
    if reason is not None:
        return reason
    if _scale_at(spec) is ScaleAt.OPERANDS:
        return _plan_mx(spec, mnk, device, accumulation)
    return _plan_fp8(spec, mnk, device, accumulation)


def _refusal(spec: MatmulSpec, mnk: tuple[int, int, int], device: Device) -> Unsupported | None:
    products = prod(-(-size // K_PADDING) * K_PADDING for size in mnk)
    if device.kind is DeviceKind.INTERPRETER and products > INTERPRETER_SIDE**3:
        return Unsupported(
            f"without a GPU, Triton's interpreter takes about {INTERPRETER_SIDE} × {INTERPRETER_SIDE} × "
            f"{INTERPRETER_SIDE} at most, got {mnk[0]} × {mnk[1]} × {mnk[2]}"
        )
    if device.kind is DeviceKind.GPU and (device.capability is None or device.capability < MIN_CAPABILITY):
        major, minor = device.capability or (0, 0)
        return Unsupported(
            f"{device.name} has compute capability {major}.{minor}; FP8 tensor cores start at "
            f"{MIN_CAPABILITY[0]}.{MIN_CAPABILITY[1]} (Ada), Hopper is 9.0"
        )
    if spec.out not in (FORMATS["bf16"], FORMATS["fp32"]):
        return Unsupported(f"the GEMM writes bf16 or fp32, not {spec.out.name}")
    return check_operand(spec.a) or check_operand(spec.b)


def _scale_at(spec: MatmulSpec) -> ScaleAt:
    extents = [extent for extent in (spec.a.tile.k, spec.b.tile.k) if extent is not WHOLE]
    if not extents:
        return ScaleAt.EPILOGUE
    powers_of_two = all(operand.scale.kind is not ScaleKind.FP32 for operand in (spec.a, spec.b))
    return ScaleAt.OPERANDS if powers_of_two else ScaleAt.K_LOOP


def _plan_fp8(
    spec: MatmulSpec, mnk: tuple[int, int, int], device: Device, accumulation: Accumulation
) -> GemmPlan | Unsupported:
    scale_at = _scale_at(spec)
    promotion = _promotion(spec, accumulation)
    if isinstance(promotion, Unsupported):
        return promotion
    block_k = K_PADDING if promotion is WHOLE else promotion
    if block_k & (block_k - 1) or not _MIN_DOT_K <= block_k <= K_PADDING:
        return Unsupported(
            f"a sum that leaves the tensor core every {promotion} products needs a power of two "
            f"from {_MIN_DOT_K} to {K_PADDING}"
        )
    blocks = _one_chain(spec, mnk, device) if promotion is WHOLE else _PROMOTED
    return _plan(spec, Kernel.FP8, scale_at, promotion, block_k, blocks)


@dataclass(frozen=True)
class _Blocks:
    """What was fastest on an H200 (torch 2.11, triton 3.6) for one kind of plan, none of it spilling."""

    block_m: int
    block_n: int
    warps: int
    stages: int
    group_m: int = 8
    programs: int = 0


_PROMOTED = _Blocks(64, 128, warps=4, stages=3, group_m=32)
"""Small enough for three programs on an SM: one promotes while another multiplies."""


def _plan(
    spec: MatmulSpec, kernel: Kernel, scale_at: ScaleAt, promotion: Extent, block_k: int, blocks: _Blocks
) -> GemmPlan:
    return GemmPlan(
        spec=spec, kernel=kernel, scale_at=scale_at, promotion=promotion, block_k=block_k, **vars(blocks)
    )


def _one_chain(spec: MatmulSpec, mnk: tuple[int, int, int], device: Device) -> _Blocks:
    """Blocks where the sum stays in the tensor core. The large one needs enough blocks for every SM, and a
    16-bit D: an fp32 one would not fit into shared memory beside the operands.
    """
    if mnk[0] <= _LOW:
        return _Blocks(64, 128, warps=4, stages=4)
    if spec.out.bits > FORMATS["bf16"].bits or _count(mnk, 128, 256) < device.sms:
        return _Blocks(128, 128, warps=4, stages=4)
    return _Blocks(128, 256, warps=8, stages=3, programs=device.sms)


def _count(mnk: tuple[int, int, int], block_m: int, block_n: int) -> int:
    return -(-mnk[0] // block_m) * -(-mnk[1] // block_n)


def _promotion(spec: MatmulSpec, accumulation: Accumulation) -> Extent | Unsupported:
    """The promotion a plan is to have; a scale that changes along K sets it, whatever is asked for."""
    steps = {extent for extent in (spec.a.tile.k, spec.b.tile.k) if extent is not WHOLE}
    if steps:
        step = min(steps)
        if accumulation is Accumulation.FAST:
            return Unsupported(
                f"fast accumulation keeps one sum in the tensor core over all of K, but a scale here changes "
                f"every {step} along K, so the sum has to come out every {step}"
            )
        if any(extent % step for extent in steps):
            return Unsupported(f"tiles of {spec.a.tile.k} and {spec.b.tile.k} along K do not nest")
        return step
    match accumulation:
        case Accumulation.FAST:
            return WHOLE
        case Accumulation.PROMOTED:
            return ACCUMULATORS["hopper_promoted"].promotion
        case Accumulation.RECIPE:
            return spec.accumulator.promotion


def _plan_mx(
    spec: MatmulSpec, mnk: tuple[int, int, int], device: Device, accumulation: Accumulation
) -> GemmPlan | Unsupported:
    native = (
        device.kind is DeviceKind.GPU
        and device.capability is not None
        and _BLACKWELL <= device.capability < _AFTER_BLACKWELL
        and all(operand.tile == TileShape(1, _DOT_SCALE_TILE) for operand in (spec.a, spec.b))
    )
    if accumulation is Accumulation.PROMOTED:
        return Unsupported(
            "promotion is for the FP8 tensor core of Hopper; scales that change every "
            f"{_k_step(spec)} along K are applied to the operands here, "
            + (
                "and Blackwell sums them in fp32"
                if native
                else "which are multiplied as bf16 and summed in fp32"
            )
        )
    steps = (spec.a.tile.k, spec.b.tile.k)
    if any(step is WHOLE or step & (step - 1) or step > K_PADDING for step in steps):
        return Unsupported(
            f"power-of-two scales need tiles of 1, 2, 4 … {K_PADDING} along K on both operands, "
            f"got {steps[0]} and {steps[1]}"
        )
    if native:
        blocks = _Blocks(128, 128, warps=8, stages=3)
        return _plan(spec, Kernel.NATIVE_MX, ScaleAt.OPERANDS, WHOLE, K_PADDING, blocks)
    blocks = _one_chain(spec, mnk, device)
    return _plan(spec, Kernel.DEQUANTIZED, ScaleAt.OPERANDS, WHOLE, _BF16_BLOCK_K, blocks)


def _k_step(spec: MatmulSpec) -> int:
    return min(extent for extent in (spec.a.tile.k, spec.b.tile.k) if extent is not WHOLE)


def decode_shift(format_: Format, wide: Format) -> tuple[int, int]:
    """(shift, exponent): a code's magnitude bits << shift, read as `wide`, times 2**exponent is its value."""
    return wide.mantissa_bits - format_.mantissa_bits, wide.bias - format_.bias
