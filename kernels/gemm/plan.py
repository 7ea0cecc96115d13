"""Launch decisions as data: which kernel, which blocks, where the scale is applied. Pure; no torch, no GPU.

A tile (numerics) is not a block (speed): nothing here changes a result beyond the order of its sums.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from math import prod

from fp8core.recipes import MatmulSpec
from fp8core.tiles import WHOLE
from kernels.device import Device, DeviceKind, Unsupported
from kernels.gemm.blocks import Blocks, Body
from kernels.gemm.bodies import BODIES, refusal
from kernels.gemm.cost.choose import chosen
from kernels.gemm.hopper.storage import Storage
from kernels.gemm.meaning import Arithmetic, Meaning, Summation, meaning_of
from kernels.gemm.ran import RanPlan
from kernels.gemm.simple.blocks import built_in, undecodable
from kernels.operand_passes.native import scaled_core
from kernels.quantize.plan import K_PADDING

INTERPRETER_SIDE, INTERPRETER_MATRIX = 1024, 1536
"""The interpreter takes M · N · K up to the first cubed, and matrices up to the second squared, each size
rounded up to K_PADDING: seconds, not minutes.
"""


MIN_CAPABILITY = (8, 9)

_SIMPLE = tuple(body for body in Body if body.is_simple)


@dataclass(frozen=True, kw_only=True)
class GemmPlan:
    """One launch decision: what is computed, the blocks that carry it out, and their shared memory.

    `sms`: the device's; `why`: one sentence on why these blocks, which two equal plans may tell apart;
    `storage` follows from meaning and blocks, None where the compiler lays out shared memory.
    Raises ValueError where the blocks would mean something else, or their body does not carry them out.
    """

    meaning: Meaning
    blocks: Blocks
    sms: int
    why: str = field(default="", compare=False)
    storage: Storage | None = field(init=False, compare=False)

    def __post_init__(self) -> None:
        promotion, body = self.meaning.promotion, BODIES[self.body]
        if reason := body.refusal(self.meaning):
            raise ValueError(f"{reason}, got {self.title}, D in {self.meaning.spec.out.name}")
        if self.body.is_simple and promotion is not WHOLE and self.blocks.block_k != promotion:
            raise ValueError(
                f"the simple kernel promotes once a block of K: every {promotion} products "
                f"needs block_k {promotion}, got {self.blocks.block_k}"
            )
        if self.body is Body.SIMPLE and (reason := undecodable(self.meaning, self.blocks)):
            raise ValueError(f"{reason}, got {self.title}")
        if self.blocks.decoded and self.meaning.arithmetic is not Arithmetic.DEQUANTIZED:
            raise ValueError(
                "only values multiplied as bf16 are decoded in the K loop, not for "
                f"{self.meaning.arithmetic.value}"
            )
        made = body.storage(self.meaning, self.blocks) if body.storage else None
        object.__setattr__(self, "storage", made)

    @property
    def body(self) -> Body:
        return self.blocks.body

    @property
    def ran(self) -> RanPlan:
        """The plan as a measurement keeps it."""
        return RanPlan(
            arithmetic=self.meaning.arithmetic,
            scale_at=self.meaning.scale_at,
            promotion=self.meaning.promotion,
            refolded=self.meaning.refolded_from is not None,
            blocks=self.blocks,
        )

    @property
    def title(self) -> str:
        """The plan in words, for a result's row."""
        return self.ran.title

    def programs(self, m: int, n: int) -> int:
        """Programs that are launched for D [m, n] where none has a run of K of its own."""
        return self.blocks.programs(m, n, self.sms)

    def whole(self, m: int, n: int) -> int:
        """Blocks of D [m, n] that no programs share."""
        return self.blocks.whole(m, n, self.sms)

    def launched(self, m: int, n: int, sharing: int) -> int:
        """Programs that are launched for D [m, n] where so many share a block."""
        return self.programs(m, n) * (1 if self.blocks.shares_last else sharing)


def plan_gemm(
    spec: MatmulSpec, mnk: tuple[int, int, int], device: Device, summation: Summation
) -> GemmPlan | Unsupported:
    """The fastest way to run D[M, N] = A[M, K] · B[N, K]ᵀ on a device, or one sentence saying why not."""
    plan = plan_built_in(spec, mnk, device, summation)
    if isinstance(plan, Unsupported) or device.kind is DeviceKind.INTERPRETER:
        return plan
    reasons = {body: refusal(body, plan.meaning, mnk, device) for body in BODIES}
    able = [body for body, reason in reasons.items() if not reason]
    simple = all(body.is_simple for body in able)
    return _fastest(plan, mnk, device, able, _why_simple(plan.meaning, device, reasons) if simple else "")


def _why_simple(meaning: Meaning, device: Device, reasons: Mapping[Body, str]) -> str:
    """Why none of the warp-specialized kernels runs: on Blackwell, for what its scaled tensor core does."""
    if meaning.arithmetic is Arithmetic.NATIVE_MX:
        core = f"the tensor core of {device.name} multiplies by these scales itself"
        return f"{core} (kind::{meaning.native.value}), so the block-scaled kernel runs"
    lacking = next(reason for body, reason in reasons.items() if not body.is_simple)
    if scaled_core(device) and meaning.spec.extents_along_k:
        lacking = reasons[Body.NATIVE_MX]
    return f"{lacking}, so the simple kernel runs"


def plan_simple(
    spec: MatmulSpec, mnk: tuple[int, int, int], device: Device, summation: Summation
) -> GemmPlan | Unsupported:
    """A GEMM's plan by the simple `tl` kernel, which runs on every GPU and in the interpreter."""
    plan = plan_built_in(spec, mnk, device, summation)
    if isinstance(plan, Unsupported) or device.kind is DeviceKind.INTERPRETER:
        return plan
    return _fastest(plan, mnk, device, _SIMPLE, "the simple kernel was asked for")


def plan_built_in(
    spec: MatmulSpec, mnk: tuple[int, int, int], device: Device, summation: Summation
) -> GemmPlan | Unsupported:
    """A GEMM's plan with the simple kernel's built-in blocks, whatever a table has."""
    meaning = _refusal(mnk, device) or meaning_of(spec, device, summation)
    if isinstance(meaning, Unsupported):
        return meaning
    blocks, why = built_in(meaning, mnk, device), "Triton's interpreter runs the simple kernel"
    return GemmPlan(meaning=meaning, blocks=blocks, sms=device.sms, why=why)


def _fastest(
    plan: GemmPlan, mnk: tuple[int, int, int], device: Device, bodies: Collection[Body], why: str
) -> GemmPlan:
    """The plan with the fastest blocks of these bodies: by a measurement nearby, else by the cost model."""
    said = f"{why}, with " if why else ""
    if not all(mnk):
        return replace(plan, why=f"{said}its built-in blocks: there is nothing to multiply")
    try:
        found = chosen(plan.meaning, mnk, device, frozenset(bodies))
    except ValueError as error:
        return replace(plan, why=f"{said}its built-in blocks: {error}")
    return replace(plan, blocks=found.blocks, why=said + found.why)


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
