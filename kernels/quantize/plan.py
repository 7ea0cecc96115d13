"""Launch decisions of the quantizer: its blocks, and which operands it takes. Pure; no torch, no GPU."""

from dataclasses import dataclass

from fp8core.formats import FORMATS
from fp8core.recipes import OperandSpec
from fp8core.rounding import Rounding
from fp8core.scales import E8M0_FLOOR, E8M0_ROUND_UP, FP32_SCALE
from fp8core.tiles import WHOLE, Extent, TileShape
from kernels.device import Unsupported

K_PADDING = 128
"""Codes are stored with zeros up to a multiple of this along K: what TMA and torch's own ops ask for."""

_FORMATS = (FORMATS["e4m3"], FORMATS["e5m2"])
_SCALE_RULES = (FP32_SCALE, E8M0_FLOOR, E8M0_ROUND_UP)
_FUSED_ELEMENTS = 128 * 128
_QUANTIZE_MN, _QUANTIZE_K = 64, 128


@dataclass(frozen=True, kw_only=True)
class QuantizePlan:
    """Blocks of the quantizer. A block is cut into parts that lie in one tile each.

    `fused` says that a part is a whole tile, so that one pass over the data is enough.
    """

    block_mn: int
    block_k: int
    part_mn: int
    part_k: int
    fused: bool
    warps: int


def plan_quantize(tile: TileShape) -> QuantizePlan:
    """The blocks for a tile of any extents: one pass where a tile fits a block, else two."""
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
    """The reason why the device quantizer cannot do `spec`; None where it can."""
    if spec.format not in _FORMATS:
        known = " and ".join(format_.name for format_ in _FORMATS)
        return Unsupported(f"the kernels quantize to {known}, not to {spec.format.name}")
    if spec.rounding is not Rounding.NEAREST_EVEN:
        return Unsupported(f"the kernels round to nearest even, not {spec.rounding.value}")
    if spec.scale_rule not in _SCALE_RULES:
        return Unsupported(f"the kernels have no scale that is {spec.scale_rule.words}")
    return None
