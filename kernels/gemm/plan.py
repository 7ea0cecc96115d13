"""Launch decisions as data: kernel, blocks, place of the scales. Pure; no torch, no GPU.

A tile (numerics) is not a block (speed): nothing here changes a result beyond the order of its sums.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from math import prod

from fp8core.recipes import MatmulSpec
from fp8core.tiles import WHOLE, Extent
from kernels.device import Device, DeviceKind, Unsupported
from kernels.gemm.block_scaled import scaled_core
from kernels.gemm.blocks import Blocks, Variant
from kernels.gemm.choose import best_blocks
from kernels.gemm.hopper.storage import Storage
from kernels.gemm.numerics import REFOLDED_WORDS, Arithmetic, Numerics, ScaleAt, Summation, numerics_of
from kernels.gemm.simple.blocks import built_in, undecodable
from kernels.gemm.variants import VARIANTS, product_refusal, refusal
from kernels.quantize.facts import K_PADDING

INTERPRETER_SIDE, INTERPRETER_MATRIX = 1024, 1536
"""The interpreter takes M · N · K up to the first cubed, and matrices up to the second squared, each size
rounded up to K_PADDING: seconds, not minutes.
"""


MIN_CAPABILITY = (8, 9)

_SIMPLE = tuple(variant for variant in Variant if variant.is_simple)


@dataclass(frozen=True, kw_only=True)
class PlanRecord:
    """A plan as JSON data, for a measurement's row. The recipe of its job has the formats and tiles.

    `refolded`: a pass refolded the operands first; `promotion` as in Numerics.
    """

    arithmetic: Arithmetic
    scale_at: ScaleAt
    promotion: Extent
    refolded: bool
    blocks: Blocks

    @property
    def variant(self) -> Variant:
        return self.blocks.variant

    @property
    def title(self) -> str:
        promoted = "" if self.promotion is WHOLE else f", promoted every {self.promotion}"
        refolded = f"{REFOLDED_WORDS}, " if self.refolded else ""
        return f"{refolded}{self.arithmetic.value}, {self.scale_at.value}{promoted}; {self.blocks.title}"


@dataclass(frozen=True, kw_only=True)
class GemmPlan:
    """One launch decision: numerics, blocks, and their shared memory.

    `why`: one sentence on the choice of blocks; equal plans may differ in it. `storage` is None where the
    compiler lays out shared memory. Raises ValueError for blocks that would compute something else, or that
    their variant does not take.
    """

    numerics: Numerics
    blocks: Blocks
    sms: int
    why: str = field(default="", compare=False)
    storage: Storage | None = field(init=False, compare=False)

    def __post_init__(self) -> None:
        promotion, variant = self.numerics.promotion, VARIANTS[self.variant]
        if reason := product_refusal(self.variant, self.numerics):
            raise ValueError(f"{reason}, got {self.title}, D in {self.numerics.spec.out.name}")
        if self.variant.is_simple and promotion is not WHOLE and self.blocks.block_k != promotion:
            raise ValueError(
                f"the simple kernel promotes once a block of K: every {promotion} products "
                f"needs block_k {promotion}, got {self.blocks.block_k}"
            )
        if self.variant is Variant.SIMPLE and (reason := undecodable(self.numerics, self.blocks)):
            raise ValueError(f"{reason}, got {self.title}")
        storage = variant.storage(self.numerics, self.blocks) if variant.storage else None
        object.__setattr__(self, "storage", storage)

    @property
    def variant(self) -> Variant:
        return self.blocks.variant

    @property
    def record(self) -> PlanRecord:
        return PlanRecord(
            arithmetic=self.numerics.arithmetic,
            scale_at=self.numerics.scale_at,
            promotion=self.numerics.promotion,
            refolded=self.numerics.refolded_from is not None,
            blocks=self.blocks,
        )

    @property
    def title(self) -> str:
        return self.record.title

    def programs(self, m: int, n: int, sharing: int = 1) -> int:
        return self.blocks.programs(m, n, self.sms, sharing)


def plan_gemm(
    spec: MatmulSpec, mnk: tuple[int, int, int], device: Device, summation: Summation
) -> GemmPlan | Unsupported:
    """The fastest way to run D[M, N] = A[M, K] · B[N, K]ᵀ on a device, or one sentence saying why not."""
    numerics = _refusal(mnk, device) or numerics_of(spec, device, summation)
    if isinstance(numerics, Unsupported):
        return numerics
    if device.kind is DeviceKind.INTERPRETER:
        return _built_in(numerics, mnk, device, "Triton's interpreter runs the simple kernel")
    reasons = {variant: refusal(variant, numerics, mnk, device) for variant in VARIANTS}
    able = [variant for variant, reason in reasons.items() if not reason]
    simple = all(variant.is_simple for variant in able)
    return _fastest(numerics, mnk, device, able, _why_simple(numerics, device, reasons) if simple else "")


def _why_simple(numerics: Numerics, device: Device, reasons: Mapping[Variant, str]) -> str:
    """Reason why no warp-specialized kernel runs; on Blackwell, why not its scaled tensor core."""
    if numerics.arithmetic is Arithmetic.NATIVE_MX:
        core = f"the tensor core of {device.name} multiplies by these scales itself"
        return f"{core} (kind::{numerics.native.value}), so the block-scaled kernel runs, never run yet"
    lacking = next(reason for variant, reason in reasons.items() if not variant.is_simple)
    if scaled_core(device) and numerics.spec.extents_along_k:
        lacking = reasons[Variant.NATIVE_MX]
    return f"{lacking}, so the simple kernel runs"


def plan_simple(
    spec: MatmulSpec, mnk: tuple[int, int, int], device: Device, summation: Summation
) -> GemmPlan | Unsupported:
    """A GEMM's plan by the simple `tl` kernel, which runs on every GPU and in the interpreter."""
    plan = plan_built_in(spec, mnk, device, summation)
    if isinstance(plan, Unsupported) or device.kind is DeviceKind.INTERPRETER:
        return plan
    return _fastest(plan.numerics, mnk, device, _SIMPLE, "the simple kernel was asked for")


def plan_built_in(
    spec: MatmulSpec, mnk: tuple[int, int, int], device: Device, summation: Summation
) -> GemmPlan | Unsupported:
    """A GEMM's plan with the simple kernel's built-in blocks, whatever a table has."""
    numerics = _refusal(mnk, device) or numerics_of(spec, device, summation)
    if isinstance(numerics, Unsupported):
        return numerics
    return _built_in(numerics, mnk, device, "the simple kernel's built-in blocks were asked for")


def _built_in(numerics: Numerics, mnk: tuple[int, int, int], device: Device, why: str) -> GemmPlan:
    return GemmPlan(numerics=numerics, blocks=built_in(numerics, mnk, device), sms=device.sms, why=why)


def _fastest(
    numerics: Numerics, mnk: tuple[int, int, int], device: Device, variants: Collection[Variant], why: str
) -> GemmPlan:
    prefix = f"{why}, with " if why else ""
    if not all(mnk):
        return _built_in(numerics, mnk, device, f"{prefix}its built-in blocks: there is nothing to multiply")
    try:
        blocks, choice = best_blocks(numerics, mnk, device, frozenset(variants))
    except ValueError as error:
        return _built_in(numerics, mnk, device, f"{prefix}its built-in blocks: {error}")
    return GemmPlan(numerics=numerics, blocks=blocks, sms=device.sms, why=prefix + choice)


def _refusal(mnk: tuple[int, int, int], device: Device) -> Unsupported | None:
    sizes = [-(-size // K_PADDING) * K_PADDING for size in mnk]
    takes = prod(sizes) <= INTERPRETER_SIDE**3 and prod(sizes) <= INTERPRETER_MATRIX**2 * min(sizes)
    if device.kind is DeviceKind.INTERPRETER and not takes:
        return Unsupported(
            f"without a GPU, Triton's interpreter takes about {INTERPRETER_SIDE} × {INTERPRETER_SIDE} × "
            f"{INTERPRETER_SIDE} at most, and no matrix larger than {INTERPRETER_MATRIX} × "
            f"{INTERPRETER_MATRIX}; got {mnk[0]} × {mnk[1]} × {mnk[2]}"
        )
    if device.kind is DeviceKind.GPU and (device.capability is None or device.capability < MIN_CAPABILITY):
        major, minor = device.capability or (0, 0)
        return Unsupported(
            f"{device.name} has compute capability {major}.{minor}; FP8 tensor cores start at "
            f"{MIN_CAPABILITY[0]}.{MIN_CAPABILITY[1]} (Ada), Hopper is 9.0"
        )
    return None
