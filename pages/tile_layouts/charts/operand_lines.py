"""The lines below an operand's panel in the big picture."""

from fp8core.linear import Side
from pages.kit.charts.operand_words import bits_words, brief_preparation
from pages.kit.charts.words import short, tile
from pages.tile_layouts.charts.marks import NO_SCALE
from pages.tile_layouts.charts.scene import Scene


def operand_lines(scene: Scene, side: Side) -> list[tuple[str, str]]:
    """Format and tiles; bits and the steps before rounding; the outer scale. Each also for a telephone."""
    operand, drawn = scene.recipe.operand(scene.matmul, side), scene.operand(side)
    tensor, name = scene.matmul.operand(side), f"{side.value} = {scene.matmul.symbol(side)}"
    if operand is None or drawn.scales is None:
        return [(f"{name}, {NO_SCALE}", f"{name}, {NO_SCALE}")]
    spec = operand.spec
    free, k = (spec.tile.mn, "M" if side is Side.A else "N"), (spec.tile.k, "K")
    (down, across), names = zip(*((free, k) if side is Side.A else (k, free)), strict=True)
    bits, shape = bits_words(operand, scene.layer.of(tensor)), tile(down, across, names)
    brief = brief_preparation(operand)
    lines = [
        (f"{name} in {spec.format.name}, tiles of {shape}", f"{name}, {shape}"),
        (", ".join([f"{bits} bits per element", *brief]), ", ".join([f"{bits} bits", *brief[:1]])),
    ]
    outer, rule = drawn.scales.outer, spec.scale_rule
    if outer is None:
        return lines
    if rule.outer.constant is not None:
        told = f"each scale times {rule.outer.constant:.6g}"
        return [*lines, (told, told)]
    many = "outlined" if outer.size > 1 else f"dashed: {short(float(outer.flat[0]), 3)}"
    return [*lines, (f"{rule.format.name} scales under {rule.outer.format.name}, {many}", f"outer {many}")]
