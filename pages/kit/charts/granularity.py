"""The names that people use for what shares a scale and for the scale's format, derived from the data."""

from fp8core.formats import FORMATS
from fp8core.linear import Axis, LayerTensor
from fp8core.recipes import Operand
from fp8core.scales import ScaleRule
from fp8core.tiles import WHOLE, Extent

_LINES = {Axis.TOKENS: "token-wise", Axis.IN: "channel-wise", Axis.OUT: "channel-wise"}
_E8M0, _FP32 = FORMATS["e8m0"], FORMATS["fp32"]


def granularity(tensor: LayerTensor, tile: tuple[Extent, Extent]) -> str:
    """What shares a scale on a stored tensor, under the names that people use.

    A scale for each token or each channel is called row-wise, too: it belongs to a row of a matmul's operand.
    """
    rows, columns = tile
    if rows is WHOLE and columns is WHOLE:
        return "tensor-wise"
    if WHOLE in tile:
        axis = tensor.axes[1 if rows is WHOLE else 0]
        return f"row-wise, {_LINES[axis]}" if 1 in tile else f"groups, {_LINES[axis]}"
    return "group-wise" if 1 in tile else "block-wise"


def scale_name(rule: ScaleRule) -> str:
    """The format of a scale under the names that people use."""
    if rule.has_fitted_outer and rule.outer is not None:
        return f"two-level: {rule.format.name} under {rule.outer.format.name}"
    if rule.format == _E8M0:
        return "E8M0, or ue8m0"
    return f"{rule.format.name}, powers of two" if rule.powers_of_two else rule.format.name


def operand_name(tensor: LayerTensor, operand: Operand | None) -> str:
    """What shares a scale in an operand; bf16 has no scale."""
    return "bf16: no scale" if operand is None else granularity(tensor, operand.tile)
