"""Short forms for the recipes of all families."""

from dataclasses import replace

from fp8core.accumulators import ACCUMULATORS, Accumulator
from fp8core.formats import FORMATS, Format
from fp8core.recipes.spec import MatmulSpec, OperandSpec
from fp8core.rounding import Rounding
from fp8core.scales import ScaleRule
from fp8core.tiles import Extent, TileShape

E4M3, E5M2, HIF8 = FORMATS["e4m3"], FORMATS["e5m2"], FORMATS["hif8"]
E2M1, E3M2, E2M3, MXINT8 = FORMATS["e2m1"], FORMATS["e3m2"], FORMATS["e2m3"], FORMATS["mxint8"]
UNIFORM4 = FORMATS["uniform4"]
FAST, PROMOTED = ACCUMULATORS["hopper_fast"], ACCUMULATORS["hopper_promoted"]
DEQUANTIZED = ACCUMULATORS["hopper_bf16"]
"""Accumulators on Hopper. FAST: the FP8 tensor core, for tiles of all of K. PROMOTED: the same with
promotion every 128 products, for tiles of 128 · n along K. DEQUANTIZED: the bf16 tensor core, for other
tiles.
"""
_BF16, _FP32 = FORMATS["bf16"], FORMATS["fp32"]


def operand(format_: Format, mn: Extent, k: Extent, rule: ScaleRule) -> OperandSpec:
    """Operand rounded to nearest even, in tiles of mn × k."""
    return OperandSpec(format=format_, tile=TileShape(mn, k), scale_rule=rule)


def stochastic(spec: OperandSpec) -> OperandSpec:
    return replace(spec, rounding=Rounding.STOCHASTIC)


def matmul(
    a: OperandSpec | None, b: OperandSpec | None, accumulator: Accumulator = PROMOTED, out: Format = _BF16
) -> MatmulSpec:
    return MatmulSpec(a=a, b=b, accumulator=accumulator, out=out)


def wgrad(a: OperandSpec | None, b: OperandSpec | None, accumulator: Accumulator = PROMOTED) -> MatmulSpec:
    """Matmul of dw, whose fp32 results are accumulated."""
    return matmul(a, b, accumulator, _FP32)
