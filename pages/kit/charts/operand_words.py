"""Words on how an operand is made, beside its format, tiles and scales."""

from fp8core.costs import bits_per_element
from fp8core.linear import LayerTensor
from fp8core.recipes import Operand
from fp8core.rotations import Rotation
from fp8core.rounding import Rounding
from pages.kit.charts.words import short, stored_tile

_NEAREST = (Rounding.NEAREST_EVEN, Rounding.NEAREST_AWAY)


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
    """The second level of scales in words; empty where there is one level."""
    outer = operand.spec.scale_rule.outer
    if outer is None:
        return ""
    if outer.constant is not None:
        return f", times the constant {outer.constant:.6g}"
    shared = stored_tile(tensor, *operand.stored((outer.tile.mn, outer.tile.k)))
    return f", under one {outer.format.name} scale for {shared}"


def bits_words(operand: Operand | None, shape: tuple[int, int]) -> str:
    """Bits of memory for each element of a tensor of `shape`, the scales' share included."""
    return short(bits_per_element(operand, shape), 4)
