"""Meaning of a GEMM: the numbers it multiplies, the way it sums them, and the place of the scales.

Matmuls of one family share their blocks. Pure; no torch, no GPU.
"""

from dataclasses import dataclass, replace
from enum import Enum

from fp8core.accumulators import ACCUMULATORS, Accumulator
from fp8core.formats import FORMATS, Format
from fp8core.recipes import MatmulSpec
from fp8core.tiles import WHOLE, Extent, TileShape
from kernels.device import Device, Unsupported
from kernels.gemm.blocks import MIN_DOT_K
from kernels.operand_passes.plan import has_native_mx, refolded_spec
from kernels.quantize.plan import K_PADDING, check_operand


class Arithmetic(Enum):
    """Numbers that are multiplied, and the unit that multiplies them."""

    FP8 = "fp8 tensor core"
    DEQUANTIZED = "dequantized to bf16, bf16 tensor core"
    NATIVE_MX = "scaled tensor core"


class ScaleAt(Enum):
    """Place where the scales come in."""

    EPILOGUE = "scales in the epilogue"
    K_LOOP = "scales in the K loop"
    OPERANDS = "scales on the operands"


PROMOTED_WORDS = "promoted every"
"""Words of a plan's title for a sum that leaves the tensor core along K; the number of products follows."""

REFOLDED_WORDS = "refolded, not bit-exact"
"""Words of a plan's title and a result's row for operands that are refolded before they are multiplied."""


class Summation(Enum):
    """Way of summing along K that a caller asks for.

    REFOLDED is for MXFP8 on a GPU without block-scaled MMA. It first folds 1x32 scales into one for 1x128 of
    A and one for 128x128 of B (fp8core.refold). Its result is not bit-exact.
    """

    RECIPE = "recipe"
    FAST = "fast"
    PROMOTED = "promoted"
    REFOLDED = "refolded"

    @property
    def words(self) -> str:
        """The value, as a result's row says it."""
        return REFOLDED_WORDS if self is Summation.REFOLDED else self.value


class Geometry(Enum):
    """Geometry of a tile on an operand [mn, K]: the rows that it has, and all of K or a part."""

    TENSOR = "tensor"
    ROW = "row"
    BAND = "band"
    LINE = "line"
    SQUARE = "square"
    COLUMN = "column"

    @classmethod
    def of(cls, tile: TileShape) -> "Geometry":
        """Geometry of a tile, by the rows that it has and by its part of K.

        | rows | all of K | a part of K |
        |---|---|---|
        | one | ROW | LINE |
        | several | BAND | SQUARE |
        | all | TENSOR | COLUMN |
        """
        over_k = tile.k is WHOLE
        if tile.mn is WHOLE:
            return cls.TENSOR if over_k else cls.COLUMN
        if tile.mn == 1:
            return cls.ROW if over_k else cls.LINE
        return cls.BAND if over_k else cls.SQUARE


@dataclass(frozen=True, kw_only=True)
class Family:
    """The key of a table of plans, beside the shape. `promotion` is that of Meaning; `out` names a format."""

    arithmetic: Arithmetic
    scale_at: ScaleAt
    promotion: Extent
    out: str
    a: Geometry
    b: Geometry

    @classmethod
    def of(cls, meaning: "Meaning") -> "Family":
        return cls(
            arithmetic=meaning.arithmetic,
            scale_at=meaning.scale_at,
            promotion=meaning.promotion,
            out=meaning.spec.out.name,
            a=Geometry.of(meaning.spec.a.tile),
            b=Geometry.of(meaning.spec.b.tile),
        )

    def __str__(self) -> str:
        sums = "fast" if self.promotion is WHOLE else f"promoted-{self.promotion}"
        arithmetic, scale_at = self.arithmetic.name.lower(), self.scale_at.name.lower()
        return f"{arithmetic} {scale_at} {sums} {self.out} {self.a.value}·{self.b.value}"


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """Meaning of a GEMM, whatever blocks carry it out.

    - spec: the matmul that the tensor core is given.
    - promotion: the number of products after which the sum goes to fp32 registers.
    - refolded_from: the matmul as its operands come, where a pass refolds them to those of `spec`.
    """

    spec: MatmulSpec
    arithmetic: Arithmetic
    scale_at: ScaleAt
    promotion: Extent
    refolded_from: MatmulSpec | None = None

    @property
    def operands(self) -> MatmulSpec:
        """The matmul as A and B come."""
        return self.refolded_from or self.spec

    @property
    def multiplied(self) -> tuple[Format, Format]:
        """The formats in which A and B reach the tensor core."""
        if self.arithmetic is Arithmetic.DEQUANTIZED:
            return FORMATS["bf16"], FORMATS["bf16"]
        return self.spec.a.format, self.spec.b.format

    @property
    def family(self) -> Family:
        """The key under which a table of plans has the blocks of this GEMM."""
        return Family.of(self)

    @property
    def accumulator(self) -> Accumulator:
        """Model of the way in which Hopper's tensor core adds."""
        if self.arithmetic is not Arithmetic.FP8:
            return ACCUMULATORS["hopper_bf16"]
        if self.promotion is WHOLE:
            return ACCUMULATORS["hopper_fast"]
        return replace(ACCUMULATORS["hopper_promoted"], promotion=self.promotion)


def meaning_of(spec: MatmulSpec, device: Device, summation: Summation) -> Meaning | Unsupported:
    """Meaning of a matmul on a device, summed as asked for; or one sentence saying why it cannot run."""
    if spec.out not in (FORMATS["bf16"], FORMATS["fp32"]):
        return Unsupported(f"the GEMM writes bf16 or fp32, not {spec.out.name}")
    reason = check_operand(spec.a) or check_operand(spec.b)
    if reason is not None:
        return reason
    if summation is Summation.REFOLDED:
        folded = refolded_spec(spec, device)
        if isinstance(folded, Unsupported):
            return folded
        made = meaning_of(folded, device, Summation.RECIPE)
        return made if isinstance(made, Unsupported) else replace(made, refolded_from=spec)
    scale_at = _scale_at(spec)
    if scale_at is ScaleAt.OPERANDS:
        return _mx(spec, device, summation)
    promotion = _promotion(spec, summation)
    if isinstance(promotion, Unsupported):
        return promotion
    if promotion is not WHOLE and (promotion & (promotion - 1) or not MIN_DOT_K <= promotion <= K_PADDING):
        return Unsupported(
            f"a sum that leaves the tensor core every {promotion} products needs a power of two "
            f"from {MIN_DOT_K} to {K_PADDING}"
        )
    return Meaning(spec=spec, arithmetic=Arithmetic.FP8, scale_at=scale_at, promotion=promotion)


def _scale_at(spec: MatmulSpec) -> ScaleAt:
    extents = [extent for extent in (spec.a.tile.k, spec.b.tile.k) if extent is not WHOLE]
    if not extents:
        return ScaleAt.EPILOGUE
    powers_of_two = all(operand.scale_rule.powers_of_two for operand in (spec.a, spec.b))
    return ScaleAt.OPERANDS if powers_of_two else ScaleAt.K_LOOP


def _promotion(spec: MatmulSpec, summation: Summation) -> Extent | Unsupported:
    """The promotion that a plan is to have. A scale that changes along K sets it, whatever is asked for."""
    steps = {extent for extent in (spec.a.tile.k, spec.b.tile.k) if extent is not WHOLE}
    if steps:
        step = min(steps)
        if summation is Summation.FAST:
            return Unsupported(
                f"fast accumulation keeps one sum in the tensor core over all of K, but a scale here changes "
                f"every {step} along K, so the sum has to come out every {step}"
            )
        if any(extent % step for extent in steps):
            return Unsupported(f"tiles of {spec.a.tile.k} and {spec.b.tile.k} along K do not nest")
        return step
    match summation:
        case Summation.FAST:
            return WHOLE
        case Summation.PROMOTED:
            return ACCUMULATORS["hopper_promoted"].promotion
        case _:
            return spec.accumulator.promotion


def _mx(spec: MatmulSpec, device: Device, summation: Summation) -> Meaning | Unsupported:
    """Apply powers of two along K to the operands. The tensor core or a pass multiplies by them."""
    native = has_native_mx(spec, device)
    steps = (spec.a.tile.k, spec.b.tile.k)
    if summation is Summation.PROMOTED:
        return Unsupported(
            "promotion is for the FP8 tensor core of Hopper; scales that change every "
            f"{min(step for step in steps if step is not WHOLE)} along K are applied to the operands here, "
            + (
                "and Blackwell sums them in fp32"
                if native
                else "which are multiplied as bf16 and summed in fp32"
            )
        )
    if any(step is WHOLE or step & (step - 1) or step > K_PADDING for step in steps):
        return Unsupported(
            f"power-of-two scales need tiles of 1, 2, 4 … {K_PADDING} along K on both operands, "
            f"got {steps[0]} and {steps[1]}"
        )
    arithmetic = Arithmetic.NATIVE_MX if native else Arithmetic.DEQUANTIZED
    return Meaning(spec=spec, arithmetic=arithmetic, scale_at=ScaleAt.OPERANDS, promotion=WHOLE)
