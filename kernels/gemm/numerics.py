"""Numerics of a GEMM: formats of the factors, place of the scales, way of summing. Pure; no torch, no GPU.

A code times its scale is decoded to bf16 if that is exact: bf16's significand has 8 bits, and a product's at
most as many as both factors' together.

| code | bits | scale along K | bits |
|---|---|---|---|
| e5m2, e3m2, uniform4 | 3 | E8M0, any power of two | 1 |
| e4m3, e2m3, hif8 | 4 | E4M3 | 4 |
| e2m1 | 2 | fp32 | 24 |
| mxint8 | 7 | | |

So a scale of fp32 along K stays outside: it multiplies the sum of its own tile.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property, lru_cache

import numpy as np

from fp8core.accumulators import ACCUMULATORS, Accumulator
from fp8core.formats import FORMATS, FloatFormat, Format
from fp8core.linear import Side
from fp8core.recipes import MatmulSpec, OperandSpec
from fp8core.refold import REFOLDED_TILES, refolded
from fp8core.tiles import WHOLE, Extent, TileShape
from kernels.device import Device, Unsupported
from kernels.gemm.block_scaled import NativeKind, instruction_format, kind_of, native_kind
from kernels.gemm.blocks import MIN_DOT_K
from kernels.quantize.facts import K_PADDING, check_operand

REFOLDED_WORDS = "refolded, not bit-exact"
FP8_FORMATS = (FORMATS["e4m3"], FORMATS["e5m2"])
_CODE_BITS = 8
_SCALES = ("fp32", "e8m0", "e4m3")
_PROMOTED = ACCUMULATORS["hopper_promoted"]


class Arithmetic(Enum):
    FP8 = "fp8 tensor core"
    DEQUANTIZED = "dequantized to bf16, bf16 tensor core"
    NATIVE_MX = "scaled tensor core"


class ScaleAt(Enum):
    EPILOGUE = "scales in the epilogue"
    K_LOOP = "scales in the K loop"
    OPERANDS = "scales on the operands"


class Summation(Enum):
    """A caller's choice of the way of summing along K.

    REFOLDED is for MXFP8 on a GPU without block-scaled MMA: it first folds 1x32 scales into one for 1x128 of
    A and one for 128x128 of B (fp8core.refold), and is not bit-exact.
    """

    RECIPE = "recipe"
    FAST = "fast"
    PROMOTED = "promoted"
    REFOLDED = "refolded"

    @property
    def words(self) -> str:
        return REFOLDED_WORDS if self is Summation.REFOLDED else self.value


@dataclass(frozen=True, kw_only=True)
class Numerics:
    """Numerics of a GEMM, with any blocks.

    - spec: the matmul of the tensor core's operands.
    - promotion: products after which the sum goes to fp32 registers.
    - refolded_from: the matmul of the operands before a pass refolds them, if one does.
    """

    spec: MatmulSpec
    arithmetic: Arithmetic
    scale_at: ScaleAt
    promotion: Extent
    refolded_from: MatmulSpec | None = None

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """A cached hash: two specs take long to hash, and every launch looks them up."""
        return hash((self.spec, self.arithmetic, self.scale_at, self.promotion, self.refolded_from))

    @cached_property
    def out_bytes(self) -> int:
        return self.spec.out.bytes

    @property
    def operands(self) -> MatmulSpec:
        return self.refolded_from or self.spec

    @property
    def multiplied(self) -> tuple[Format, Format]:
        """The formats of A and B at the tensor core."""
        if self.arithmetic is Arithmetic.DEQUANTIZED:
            return FORMATS["bf16"], FORMATS["bf16"]
        a, b = self.spec.a.format, self.spec.b.format
        if self.arithmetic is Arithmetic.NATIVE_MX:
            return instruction_format(self.native, a), instruction_format(self.native, b)
        return a, b

    @property
    def native(self) -> NativeKind:
        kind = kind_of(self.spec)
        if isinstance(kind, Unsupported):
            raise kind
        return kind

    def on_codes(self, side: Side) -> bool:
        """True if an operand's codes are multiplied by their stored scales before the product."""
        operand = self.spec.operand(side)
        if operand is None or self.scale_at is not ScaleAt.OPERANDS:
            return False
        return operand.tile.k is not WHOLE or operand.scale_rule.outer is not None

    def applied(self, side: Side) -> TileShape | None:
        """Tiles of the fp32 scales that multiply sums, or None: an operand's own, or its outer ones if its
        own are on its codes.
        """
        operand = self.spec.operand(side)
        if operand is None:
            return None
        if not self.on_codes(side):
            return operand.tile
        outer = operand.scale_rule.outer
        return None if outer is None else outer.tile

    @property
    def scales_at_end(self) -> bool:
        """True if scales multiply finished sums: A's first, then B's, unless `has_two_scales`."""
        scaled = any(self.applied(side) is not None for side in Side)
        return scaled and self.scale_at is not ScaleAt.K_LOOP

    @property
    def has_two_scales(self) -> bool:
        """True if one number of A and one of B multiply all finished sums: the smaller one comes first."""
        tiles = (self.applied(side) for side in Side)
        return self.scales_at_end and all(tile is None or tile.mn is WHOLE for tile in tiles)

    @property
    def kernel_key(self) -> Hashable:
        """Key of the compiled kernels. A scale's fit, its rounding and a rotation are the quantizer's."""
        return self.family, tuple(
            (operand.format.name, operand.tile, operand.scale_rule.format.name)
            for operand in self.operands.quantized
        )

    @cached_property
    def family(self) -> str:
        sums = "fast" if self.promotion is WHOLE else f"promoted-{self.promotion}"
        arithmetic, scale_at = self.arithmetic.name.lower(), self.scale_at.name.lower()
        operands = "·".join(_in_family(self.spec.operand(side)) for side in Side)
        return f"{arithmetic} {scale_at} {sums} {self.spec.out.name} {operands}"

    @property
    def accumulator(self) -> Accumulator:
        """Model of the sums of Hopper's tensor core."""
        if self.arithmetic is not Arithmetic.FP8:
            return replace(ACCUMULATORS["hopper_bf16"], promotion=self.promotion)
        if self.promotion is WHOLE:
            return ACCUMULATORS["hopper_fast"]
        return replace(_PROMOTED, promotion=self.promotion)


def _in_family(operand: OperandSpec | None) -> str:
    """An operand in the name of a family: geometry of tiles, codes other than FP8, a second level of scales.

    | rows of a tile | all of K | a part of K |
    |---|---|---|
    | one | row | line |
    | several | band | square |
    | all | tensor | column |
    """
    if operand is None:
        return "bf16"
    mn, k = operand.tile.mn, operand.tile.k
    names = ("tensor", "column") if mn is WHOLE else ("row", "line") if mn == 1 else ("band", "square")
    codes = "" if operand.format in FP8_FORMATS else f"/{operand.format.name}"
    return f"{names[k is not WHOLE]}{codes}{'/2level' if operand.scale_rule.outer else ''}"


@lru_cache(maxsize=64)
def significand_bits(format_: Format) -> int:
    """Bits of the longest significand among a format's finite numbers, the leading one included."""
    if isinstance(format_, FloatFormat):
        return format_.mantissa_bits + 1
    values = format_.decode(np.arange(1 << format_.bits, dtype=format_.code_dtype))
    significands = np.frexp(np.abs(values[np.isfinite(values) & (values != 0)]))[0]
    return next(bits for bits in range(1, 54) if not (significands * 2.0**bits % 1).any())


def takes_fp8(spec: MatmulSpec) -> bool:
    return len(spec.quantized) == 2 and all(operand.format in FP8_FORMATS for operand in spec.quantized)


def fits_bf16(operand: OperandSpec) -> bool:
    """True if each code times its stored scale is a bf16 number, the range of exponents aside."""
    rule = operand.scale_rule
    scale_bits = 1 if rule.powers_of_two else significand_bits(rule.format)
    return significand_bits(operand.format) + scale_bits - 1 <= significand_bits(FORMATS["bf16"])


def unreadable(name: str, operand: OperandSpec | None) -> str:
    """Reason why no kernel reads an operand, in a sentence; empty for none."""
    if operand is None:
        return ""
    if operand.format.bits > _CODE_BITS or significand_bits(operand.format) > _CODE_BITS:
        return f"the GEMM reads codes of at most {_CODE_BITS} bits, and {name} comes as {operand.format.name}"
    rule = operand.scale_rule
    if rule.format.name not in _SCALES:
        return f"the GEMM reads scales in {', '.join(_SCALES)}, and those of {name} are {rule.format.name}"
    if rule.outer is not None and rule.outer.tile.k is not WHOLE:
        return (
            f"an outer scale is applied to the finished sum, and that of {name} changes every "
            f"{rule.outer.tile.k} along K"
        )
    if rule.outer is not None and not fits_bf16(operand):
        return (
            f"a scale under an outer one goes onto its codes, and {operand.format.name} times "
            f"{rule.format.name} is no bf16 number on {name}"
        )
    return ""


def scale_at(spec: MatmulSpec) -> ScaleAt:
    """Place of a matmul's stored scales.

    Scales that span K wait for the end. Scales along K go onto the operands if the products are exact, unless
    tiles are as long as the FP8 tensor core's promotion.
    """
    two_levels = any(operand.scale_rule.outer for operand in spec.quantized)
    if not spec.extents_along_k and not two_levels:
        return ScaleAt.EPILOGUE
    along_k = [operand for operand in spec.quantized if operand.tile.k is not WHOLE]
    exact = all(fits_bf16(operand) for operand in along_k)
    is_promoted = takes_fp8(spec) and not two_levels and min(spec.extents_along_k) >= _PROMOTED.promotion
    return ScaleAt.OPERANDS if exact and not is_promoted else ScaleAt.K_LOOP


@lru_cache(maxsize=1024)
def numerics_of(spec: MatmulSpec, device: Device, summation: Summation) -> Numerics | Unsupported:
    """Numerics of a matmul on a device; or one sentence saying why it cannot run."""
    try:
        return _numerics(spec, device, summation)
    except Unsupported as error:
        return error.with_traceback(None)


def _numerics(spec: MatmulSpec, device: Device, summation: Summation) -> Numerics:
    if spec.out not in (FORMATS["bf16"], FORMATS["fp32"]):
        raise Unsupported(f"the GEMM writes bf16 or fp32, not {spec.out.name}")
    if reason := unreadable("A", spec.a) or unreadable("B", spec.b):
        raise Unsupported(reason)
    if unwritten := check_operand(spec.a) or check_operand(spec.b):
        raise unwritten
    if summation is Summation.REFOLDED:
        return replace(_numerics(_refolded(spec, device), device, Summation.RECIPE), refolded_from=spec)
    at = scale_at(spec)
    arithmetic = Arithmetic.FP8 if takes_fp8(spec) else Arithmetic.DEQUANTIZED
    if isinstance(native_kind(spec, device), NativeKind):
        at, arithmetic = ScaleAt.OPERANDS, Arithmetic.NATIVE_MX
    elif at is ScaleAt.OPERANDS:
        arithmetic = Arithmetic.DEQUANTIZED
    promotion = _promotion(spec, at, arithmetic, summation)
    if arithmetic is not Arithmetic.NATIVE_MX:
        _check_steps(spec, at, promotion)
    return Numerics(spec=spec, arithmetic=arithmetic, scale_at=at, promotion=promotion)


def _refolded(spec: MatmulSpec, device: Device) -> MatmulSpec:
    """The spec of both operands after refolding."""
    if isinstance(native_kind(spec, device), NativeKind):
        raise Unsupported(
            f"refolding is for GPUs without block-scaled MMA, and {device.name} multiplies these as they are"
        )
    for name, operand in (("A", spec.a), ("B", spec.b)):
        if operand is None or operand.format not in FP8_FORMATS or operand.scale_rule.outer:
            came = "bf16" if operand is None else f"{operand.format.name}, {operand.scale_rule.words}"
            formats = _listed(each.name for each in FP8_FORMATS)
            raise Unsupported(
                f"refolding moves codes of {formats} with one level of scales, and {name} comes as {came}"
            )
    try:
        a, b = (refolded(spec.operand(side), REFOLDED_TILES[side]) for side in Side)
    except ValueError as error:
        raise Unsupported(str(error)) from error
    return replace(spec, a=a, b=b, accumulator=_PROMOTED)


def _promotion(spec: MatmulSpec, at: ScaleAt, arithmetic: Arithmetic, summation: Summation) -> Extent:
    """Promotion of a plan. A scale of sums that changes along K overrides `summation`. Sums of bf16 products
    are fp32 sums already.
    """
    if at is ScaleAt.K_LOOP:
        step = min(spec.extents_along_k)
        if summation is Summation.FAST:
            raise Unsupported(
                f"fast accumulation keeps one sum in the tensor core over all of K, but a scale here changes "
                f"every {step} along K, so the sum has to come out every {step}"
            )
        if any(extent % step for extent in spec.extents_along_k):
            raise Unsupported(f"tiles of {_listed(spec.extents_along_k)} along K do not nest")
        return step
    if arithmetic is Arithmetic.FP8 and summation is not Summation.FAST:
        return _PROMOTED.promotion if summation is Summation.PROMOTED else spec.accumulator.promotion
    if summation is Summation.PROMOTED:
        sums = "these operands are multiplied as bf16 and summed in fp32"
        if arithmetic is Arithmetic.NATIVE_MX:
            sums = "Blackwell multiplies these by their scales and sums them in fp32"
        raise Unsupported(f"promotion is for the FP8 tensor core of Hopper; {sums}")
    return WHOLE


def _check_steps(spec: MatmulSpec, at: ScaleAt, promotion: Extent) -> None:
    """Raise Unsupported if no block has whole tiles along K."""
    if at is ScaleAt.OPERANDS:
        if any(step & (step - 1) or step > K_PADDING for step in spec.extents_along_k):
            raise Unsupported(
                f"scales on the operands need tiles of 1, 2, 4 … {K_PADDING} along K, got "
                f"{_listed(spec.extents_along_k)}"
            )
    elif promotion is not WHOLE and (promotion & (promotion - 1) or not MIN_DOT_K <= promotion <= K_PADDING):
        raise Unsupported(
            f"a sum that leaves the tensor core every {promotion} products needs a power of two "
            f"from {MIN_DOT_K} to {K_PADDING}"
        )


def _listed(things: Iterable[object]) -> str:
    return " and ".join(map(str, things))
