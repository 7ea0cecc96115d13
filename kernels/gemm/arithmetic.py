"""The unit that multiplies an operand's numbers, and the place of its scales. Pure; no torch.

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

from enum import Enum
from functools import lru_cache

import numpy as np

from fp8core.formats import FORMATS, FloatFormat, Format
from fp8core.recipes import MatmulSpec, OperandSpec
from fp8core.tiles import WHOLE

_CODE_BITS = 8
_SCALES = ("fp32", "e8m0", "e4m3")
FP8_FORMATS = (FORMATS["e4m3"], FORMATS["e5m2"])


class Arithmetic(Enum):
    FP8 = "fp8 tensor core"
    DEQUANTIZED = "dequantized to bf16, bf16 tensor core"
    NATIVE_MX = "scaled tensor core"


class ScaleAt(Enum):
    EPILOGUE = "scales in the epilogue"
    K_LOOP = "scales in the K loop"
    OPERANDS = "scales on the operands"


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


def scale_at(spec: MatmulSpec, promotion: int) -> ScaleAt:
    """Place of a matmul's stored scales. `promotion`: products after which a sum leaves the FP8 tensor core.

    Scales that span K wait for the end. Scales along K go onto the operands if the products are exact, unless
    the FP8 tensor core sums tiles as long as its promotion.
    """
    levels = any(operand.scale_rule.outer for operand in spec.quantized)
    if not spec.extents_along_k and not levels:
        return ScaleAt.EPILOGUE
    along_k = [operand for operand in spec.quantized if operand.tile.k is not WHOLE]
    exact = all(fits_bf16(operand) for operand in along_k)
    long = takes_fp8(spec) and not levels and min(spec.extents_along_k) >= promotion
    return ScaleAt.OPERANDS if exact and not long else ScaleAt.K_LOOP
