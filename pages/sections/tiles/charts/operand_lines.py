"""The lines below an operand's panel in the big picture."""

from fp8core.linear import Side
from pages.kit.charts.operand_words import bits_words, brief_preparation
from pages.kit.charts.words import short, tile
from pages.sections.tiles.charts.marks import NO_SCALE
from pages.sections.tiles.charts.scene import Scene


def operand_lines(scene: Scene, side: Side) -> list[str]:
    """Format and tiles; bits and the steps before rounding; the outer scale."""
    operand, drawn = scene.recipe.operand(scene.matmul, side), scene.operand(side)
    tensor, name = scene.matmul.operand(side), f"{side.value} = {scene.matmul.symbol(side)}"
    if operand is None or drawn.scales is None:
        return [f"{name} · {NO_SCALE}"]
    spec = operand.spec
    free, k = (spec.tile.mn, "M" if side is Side.A else "N"), (spec.tile.k, "K")
    (down, across), names = zip(*((free, k) if side is Side.A else (k, free)), strict=True)
    bits = f"{bits_words(operand, scene.layer.of(tensor))} bits an element"
    lines = [
        f"{name} · {spec.format.name} · tiles {tile(down, across, names)}",
        " · ".join([bits, *brief_preparation(operand)]),
    ]
    outer, rule = drawn.scales.outer, spec.scale_rule
    if outer is None:
        return lines
    if rule.outer.constant is not None:
        return [*lines, f"each scale times {rule.outer.constant:.6g}"]
    many = "outlined" if outer.size > 1 else f"dashed: {short(float(outer.flat[0]), 3)}"
    return [*lines, f"{rule.format.name} scales under {rule.outer.format.name}, {many}"]
