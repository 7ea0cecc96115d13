"""Words on how an operand is made: what shares a scale, its scale's format, steps before rounding."""

from fp8core.costs import bits_per_element
from fp8core.formats import FORMATS
from fp8core.linear import Axis, LayerTensor
from fp8core.recipes import Operand
from fp8core.rotations import Rotation
from fp8core.rounding import Rounding
from fp8core.scales import ScaleRule
from fp8core.tiles import WHOLE, Extent
from pages.kit.charts.words import short, stored_tile

_NEAREST = (Rounding.NEAREST_EVEN, Rounding.NEAREST_AWAY)
_LINES = {Axis.TOKENS: "token-wise", Axis.IN: "channel-wise", Axis.OUT: "channel-wise"}
_E8M0 = FORMATS["e8m0"]


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
    if rule.has_fitted_outer and rule.outer is not None:
        return f"two-level: {rule.format.name} under {rule.outer.format.name}"
    if rule.format == _E8M0:
        return "E8M0, or ue8m0"
    return f"{rule.format.name}, powers of two" if rule.powers_of_two else rule.format.name


def operand_name(tensor: LayerTensor, operand: Operand | None) -> str:
    return "bf16: no scale" if operand is None else granularity(tensor, operand.tile)


def preparation(operand: Operand) -> tuple[str, ...]:
    """Steps before and while the numbers are rounded, in words; empty where they are the usual ones."""
    spec, said = operand.spec, []
    if spec.saved_as is not None:
        said.append("made out of a saved copy")
    if spec.rotation is not None:
        said.append(f"rotated ({rotation_words(spec.rotation)})")
    if spec.rounding is not Rounding.NEAREST_EVEN:
        said.append(rounding_words(spec.rounding))
    return tuple(said)


def brief_preparation(operand: Operand) -> tuple[str, ...]:
    """The steps of `preparation` in a word or two each, for a picture."""
    spec, said = operand.spec, []
    if spec.saved_as is not None:
        said.append("out of a saved copy")
    if spec.rotation is not None:
        said.append(f"rotated, {spec.rotation.size} along K")
    if spec.rounding is not Rounding.NEAREST_EVEN:
        said.append("stochastic" if spec.is_random else "ties away from zero")
    return tuple(said)


def rotation_words(rotation: Rotation) -> str:
    """A rotation and the run along K that it mixes, such as ``Hadamard after random signs, 64 along K``."""
    return f"{rotation.kind.value}, {rotation.size} along K"


def rounding_words(rounding: Rounding) -> str:
    """A rounding as a participle, such as ``rounded toward zero``."""
    if rounding is Rounding.STOCHASTIC:
        return "rounded stochastically"
    return f"rounded {'to the ' * (rounding in _NEAREST)}{rounding.value}"


def scales_words(tensor: LayerTensor, operand: Operand) -> str:
    """What shares a scale on the stored tensor, with the second level where there is one."""
    rule = operand.spec.scale_rule
    return f"one {rule.format.name} scale for {stored_tile(tensor, *operand.tile)}{_outer(tensor, operand)}"


def _outer(tensor: LayerTensor, operand: Operand) -> str:
    outer = operand.spec.scale_rule.outer
    if outer is None:
        return ""
    if outer.constant is not None:
        return f", times the constant {outer.constant:.6g}"
    shared = stored_tile(tensor, *operand.stored((outer.tile.mn, outer.tile.k)))
    return f", under one {outer.format.name} scale for {shared}"


def bits_words(operand: Operand | None, shape: tuple[int, int]) -> str:
    return short(bits_per_element(operand, shape), 4)
