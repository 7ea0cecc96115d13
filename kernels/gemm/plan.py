"""Launch decisions as data: which kernel, which blocks, where the scale is applied. Pure; no torch, no GPU.

A tile (numerics) is not a block (speed): nothing here changes a result beyond the order of its sums.
"""

from dataclasses import dataclass, field, replace
from math import prod

from fp8core.accumulators import ACCUMULATORS, Accumulator
from fp8core.formats import FORMATS
from fp8core.recipes import MatmulSpec
from fp8core.tiles import WHOLE, Extent
from kernels.device import Device, DeviceKind, Unsupported
from kernels.gemm.blocks import Blocks, Schedule, built_in
from kernels.gemm.hopper.blocks import candidates, filling, lacks_specialized
from kernels.gemm.hopper.blocks import lacking as lacking_for
from kernels.gemm.hopper.decoding.blocks import turned
from kernels.gemm.meaning import PROMOTED_WORDS, REFOLDED_WORDS, Arithmetic, Family, ScaleAt, Summation
from kernels.gemm.shape_class import FEW, ShapeClass
from kernels.gemm.tuned import nearest, table
from kernels.operand_passes.plan import has_native_mx, refolded_spec
from kernels.quantize.plan import K_PADDING, check_operand

INTERPRETER_SIDE = 512
"""The interpreter takes M · N · K up to this cubed, each rounded up to K_PADDING: seconds, not minutes."""


MIN_CAPABILITY = (8, 9)

_FULL = "has a block of the warp-specialized schedule for every SM"
_HOPPER = (9, 0)
_MIN_DOT_K = 32
_BF16_BLOCK_K = 64


@dataclass(frozen=True, kw_only=True)
class GemmPlan:
    """One launch decision: what it means and the blocks that carry it out.

    `spec` is what the kernel multiplies, `refolded_from` the operands as they come where a pass refolds them
    to that; `promotion` the number of products after which the sum goes to fp32 registers; `sms` the
    device's; `why` one sentence on why these blocks, which two equal plans may tell apart.
    Raises ValueError where the blocks would mean something else, or no kernel carries them out.
    """

    spec: MatmulSpec
    kernel: Arithmetic
    scale_at: ScaleAt
    promotion: Extent
    blocks: Blocks
    sms: int
    refolded_from: MatmulSpec | None = None
    why: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        simple = self.schedule is Schedule.SIMPLE
        if simple and self.promotion is not WHOLE and self.block_k != self.promotion:
            raise ValueError(
                f"the simple schedule promotes once a block of K: every {self.promotion} products "
                f"needs block_k {self.promotion}, got {self.block_k}"
            )

        if self.blocks.decoded and self.kernel is not Arithmetic.DEQUANTIZED:
            raise ValueError(
                f"only values multiplied as bf16 are decoded in the K loop, not for {self.kernel.value}"
            )
        plain = self.blocks.tma and self.blocks.split_k == 1 and not self.blocks.persistent
        plain &= not self.blocks.transposed
        if self.kernel is Arithmetic.NATIVE_MX and not plain:
            raise ValueError(
                f"the scaled tensor core's kernel has TMA and one program a block, got {self.blocks.title}"
            )

    @property
    def operands(self) -> MatmulSpec:
        """How A and B come."""
        return self.refolded_from or self.spec

    @property
    def schedule(self) -> Schedule:
        return self.blocks.schedule

    @property
    def decodes_in_registers(self) -> bool:
        """Whether kernels.gemm.hopper.decoding.kernel carries it out."""
        return bool(self.blocks.decoded) and self.schedule is Schedule.SPECIALIZED

    @property
    def block_m(self) -> int:
        return self.blocks.block_m

    @property
    def block_n(self) -> int:
        return self.blocks.block_n

    @property
    def block_k(self) -> int:
        return self.blocks.block_k

    @property
    def family(self) -> Family:
        """The key under which a table of plans has this one's blocks."""
        return Family.of(self.spec, self.kernel, self.scale_at, self.promotion)

    @property
    def accumulator(self) -> Accumulator:
        """How the tensor core adds under this plan, on Hopper."""
        if self.kernel is Arithmetic.FP8 and self.promotion is WHOLE:
            return ACCUMULATORS["hopper_fast"]
        if self.kernel is Arithmetic.FP8:
            return replace(ACCUMULATORS["hopper_promoted"], promotion=self.promotion)
        return ACCUMULATORS["hopper_bf16"]

    @property
    def title(self) -> str:
        """The plan in words, for a result's row."""
        promoted = "" if self.promotion is WHOLE else f", {PROMOTED_WORDS} {self.promotion}"
        refolded = f"{REFOLDED_WORDS}, " if self.refolded_from else ""
        return f"{refolded}{self.kernel.value}, {self.scale_at.value}{promoted}; {self.blocks.title}"

    def programs(self, m: int, n: int) -> int:
        """Programs that are launched for D [m, n] where none has a run of K of its own. Of persistent ones as
        few as have no more blocks each than with one on every SM: all are done at once, and go through D in
        step, so that the L2 reads once for several what they all load. Where M is few, more SMs read B
        faster.
        """
        count = self.blocks.count(m, n)
        if not self.blocks.persistent or count <= self.sms:
            return count
        return self.sms if m <= FEW else -(-count // -(-count // self.sms))


def plan_gemm(
    spec: MatmulSpec, mnk: tuple[int, int, int], device: Device, accumulation: Summation
) -> GemmPlan | Unsupported:
    """The fastest way to run D[M, N] = A[M, K] · B[N, K]ᵀ on a device, or one sentence saying why not."""
    plan = plan_built_in(spec, mnk, device, accumulation)
    if isinstance(plan, Unsupported) or device.kind is DeviceKind.INTERPRETER:
        return plan
    lacking = lacks_specialized(device) or lacking_for(
        plan.spec, plan.kernel, plan.scale_at, plan.promotion, mnk
    )
    if lacking:
        return _tuned(plan, mnk, device, (Schedule.SIMPLE,), f"{lacking}, so the simple kernel runs")
    return _tuned(plan, mnk, device, tuple(Schedule), "")


def plan_simple(
    spec: MatmulSpec, mnk: tuple[int, int, int], device: Device, accumulation: Summation
) -> GemmPlan | Unsupported:
    """The same by the simple `tl` kernel, which runs on every GPU and in the interpreter."""
    plan = plan_built_in(spec, mnk, device, accumulation)
    if isinstance(plan, Unsupported) or device.kind is DeviceKind.INTERPRETER:
        return plan
    return _tuned(plan, mnk, device, (Schedule.SIMPLE,), "the simple kernel was asked for")


def plan_built_in(
    spec: MatmulSpec, mnk: tuple[int, int, int], device: Device, accumulation: Summation
) -> GemmPlan | Unsupported:
    """The same with the simple kernel's built-in blocks, whatever a table has."""
    reason = _refusal(spec, mnk, device)
    if reason is not None:
        return reason
    if accumulation is Summation.REFOLDED:
        folded = refolded_spec(spec, device)
        if isinstance(folded, Unsupported):
            return folded
        plan = plan_built_in(folded, mnk, device, Summation.RECIPE)
        return plan if isinstance(plan, Unsupported) else replace(plan, refolded_from=spec)
    operands = _scale_at(spec) is ScaleAt.OPERANDS
    meaning = _mx(spec, device, accumulation) if operands else _fp8(spec, accumulation)
    if isinstance(meaning, Unsupported):
        return meaning
    kernel, promotion, block_k = meaning
    blocks = built_in(
        mnk,
        sms=device.sms,
        shared_memory_bytes=device.shared_memory_bytes,
        block_k=block_k,
        native_mx=kernel is Arithmetic.NATIVE_MX,
        promoted=promotion is not WHOLE,
        element_bytes=(FORMATS["bf16"] if kernel is Arithmetic.DEQUANTIZED else spec.a.format).bytes,
        out_bytes=spec.out.bytes,
        tma=device.capability is None or device.capability >= _HOPPER,
    )
    return GemmPlan(
        spec=spec,
        kernel=kernel,
        scale_at=_scale_at(spec),
        promotion=promotion,
        blocks=blocks,
        sms=device.sms,
        why="Triton's interpreter runs the simple kernel",
    )


def _tuned(
    plan: GemmPlan, mnk: tuple[int, int, int], device: Device, schedules: tuple[Schedule, ...], why: str
) -> GemmPlan:
    """The plan with the table's blocks, where it has some for a shape nearby."""
    shape = ShapeClass.of(mnk, device.sms)
    try:
        rows = table(device.capability).get(str(plan.family), ()) if device.capability else ()
    except ValueError as error:
        return replace(plan, why=f"{why or 'the simple kernel runs'}, with its built-in blocks: {error}")
    best = nearest(rows, shape, schedules)
    if best is None:
        meaning = (plan.spec, plan.kernel, plan.scale_at, plan.promotion)
        tries = candidates(*meaning, mnk, device) if Schedule.SPECIALIZED in schedules else ()
        full = filling(tries, mnk, device)
        if full is not None:
            return replace(plan, blocks=full, why=f"no blocks were measured for this shape, and D {_FULL}")
        found = "its built-in blocks: none were measured for this shape and architecture"
        return replace(plan, why=f"{why or 'the simple kernel runs'}, with {found}")
    measured = f"{best.measurement.gpu}, {best.measurement.date}"
    where = "this shape class" if best.shape == shape else f"the nearest shape class, {best.shape}"
    found = f"the best blocks measured on {measured}, for {where}"
    blocks = turned(best.blocks, *mnk[:2])
    found += "" if blocks == best.blocks else ", M and N exchanged"
    return replace(plan, blocks=blocks, why=f"{why}, with {found}" if why else found)


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
    powers_of_two = all(operand.scale_rule.powers_of_two for operand in (spec.a, spec.b))
    return ScaleAt.OPERANDS if powers_of_two else ScaleAt.K_LOOP


_Meaning = tuple[Arithmetic, Extent, int]
"""(kernel, promotion, block_k that goes with it)"""


def _fp8(spec: MatmulSpec, accumulation: Summation) -> _Meaning | Unsupported:
    promotion = _promotion(spec, accumulation)
    if isinstance(promotion, Unsupported):
        return promotion
    block_k = K_PADDING if promotion is WHOLE else promotion
    if block_k & (block_k - 1) or not _MIN_DOT_K <= block_k <= K_PADDING:
        return Unsupported(
            f"a sum that leaves the tensor core every {promotion} products needs a power of two "
            f"from {_MIN_DOT_K} to {K_PADDING}"
        )
    return Arithmetic.FP8, promotion, block_k


def _promotion(spec: MatmulSpec, accumulation: Summation) -> Extent | Unsupported:
    """The promotion a plan is to have; a scale that changes along K sets it, whatever is asked for."""
    steps = {extent for extent in (spec.a.tile.k, spec.b.tile.k) if extent is not WHOLE}
    if steps:
        step = min(steps)
        if accumulation is Summation.FAST:
            return Unsupported(
                f"fast accumulation keeps one sum in the tensor core over all of K, but a scale here changes "
                f"every {step} along K, so the sum has to come out every {step}"
            )
        if any(extent % step for extent in steps):
            return Unsupported(f"tiles of {spec.a.tile.k} and {spec.b.tile.k} along K do not nest")
        return step
    match accumulation:
        case Summation.FAST:
            return WHOLE
        case Summation.PROMOTED:
            return ACCUMULATORS["hopper_promoted"].promotion
        case Summation.RECIPE:
            return spec.accumulator.promotion


def _mx(spec: MatmulSpec, device: Device, accumulation: Summation) -> _Meaning | Unsupported:
    native = has_native_mx(spec, device)
    if accumulation is Summation.PROMOTED:
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
        return Arithmetic.NATIVE_MX, WHOLE, K_PADDING
    return Arithmetic.DEQUANTIZED, WHOLE, _BF16_BLOCK_K


def _k_step(spec: MatmulSpec) -> int:
    return min(extent for extent in (spec.a.tile.k, spec.b.tile.k) if extent is not WHOLE)
