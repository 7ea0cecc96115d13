"""The arithmetic of one tile: its scale, some of its codes, and its share in one element of D."""

import numpy as np

from fp8core.contraction import PartialSum, partial_sums
from fp8core.linear import Side
from fp8core.quantize import scaled
from fp8core.recipes import OperandSpec
from fp8core.tiles import WHOLE
from pages.kit.charts.ink import Ink
from pages.kit.charts.words import column, log2, power_of_two, short, span
from pages.kit.html_table import colored, grid, note, pairs
from pages.sections.tiles.charts.marks import stored_slice
from pages.sections.tiles.charts.scene import OperandTile, Scene

SHOWN = 4


def free_dim(side: Side) -> str:
    return "m" if side is Side.A else "n"


def heading(tile: OperandTile, scene: Scene, ink: Ink) -> str:
    """The name of the tile."""
    dim = free_dim(tile.side)
    name = f"{tile.side.value} = {scene.matmul.symbol(tile.side)}, tile "
    free, k = colored(f"{dim} = {span(tile.free)}", dim, ink), colored(f"k = {span(tile.k)}", "k", ink)
    return f'<div style="font-size:15px;color:{ink.text}">{name}{free}, {k}</div>'


def scale_table(tile: OperandTile, scene: Scene, ink: Ink) -> str:
    """The way from the tile's largest |x| to its scale."""
    where = stored_slice(scene.matmul.operand(tile.side), tile.stored)
    rows = [
        ("as stored", where),
        ("elements", f"{len(tile.stored.rows) * len(tile.stored.columns):,}"),
        ("amax, the largest |x|", short(tile.amax)),
        *scale_lines(scene.spec.operand(tile.side), tile),
    ]
    return pairs(rows, ink)


def scale_lines(spec: OperandSpec, tile: OperandTile) -> list[tuple[str, str]]:
    """The way from amax to the scale; Qmax is the largest number of the codes' format."""
    exact = f"{short(tile.scale)} = {power_of_two(log2(tile.scale))}"
    rule = spec.scale_rule
    if rule.outer is not None:
        rounded = f"scale: {rule.format.name} under one {rule.outer.format.name} scale, rounded"
    elif rule.powers_of_two:
        rounded = "scale: a power of two, rounded"
    else:
        return [(f"scale = amax / {spec.format.max:g}", exact)]
    return [(f"amax / {spec.format.max:g}", short(tile.amax / spec.format.max)), (rounded, exact)]


def element_table(tile: OperandTile, scene: Scene, ink: Ink) -> str:
    """The first elements of the tile and its largest: from x to the code and back."""
    operand, spec = scene.operand(tile.side), scene.spec.operand(tile.side)
    divided = scaled(operand.x, operand.grid, operand.quantized.scale)
    values = operand.quantized.exact_values()
    places = _places(tile, scene)
    largest = [number for number, place in enumerate(places) if abs(operand.x[place]) == tile.amax]
    rows = [
        (
            f"[{place[0]},{place[1]}]",
            short(operand.x[place], 3),
            short(divided[place], 3),
            f"0x{int(operand.quantized.codes[place]):0{spec.format.bits // 4}x}",
            short(values[place], 3),
        )
        for place in places
    ]
    return grid(("element", "x", "x/scale", "code", "code·scale"), rows, ink, marked=largest) + note(
        "shaded: the largest |x|", ink
    )


def _places(tile: OperandTile, scene: Scene) -> list[tuple[int, int]]:
    """Stored (row, column) of the tile's first elements along k, then of its largest."""
    rows, columns = tile.stored.rows, tile.stored.columns
    along_rows = scene.matmul.k_is_rows(tile.side)
    first = [(k, columns.start) if along_rows else (rows.start, k) for k in tile.k[:SHOWN]]
    part = np.abs(scene.operand(tile.side).x[rows.start : rows.stop, columns.start : columns.stop])
    row, column = np.unravel_index(int(np.argmax(part)), part.shape)
    largest = (rows.start + int(row), columns.start + int(column))
    return first if largest in first else [*first, largest]


def output_parts(scene: Scene, m: int, n: int) -> tuple[PartialSum, ...]:
    """The stretches of D[m, n] over the K that is drawn."""
    arrays = {}
    for side, free in ((Side.A, m), (Side.B, n)):
        quantized, spec = scene.operand(side).quantized, scene.spec.operand(side)
        scale = quantized.grid.expand(quantized.scale).astype(np.float64)
        arrays[side] = (
            scene.along_k(side, spec.format.decode(quantized.codes), free),
            scene.along_k(side, scale, free),
        )
    extents = (scene.spec.a.tile.k, scene.spec.b.tile.k)
    (a, a_scale), (b, b_scale) = arrays[Side.A], arrays[Side.B]
    return partial_sums(a, b, a_scale, b_scale, *extents)


def output_table(tile: OperandTile, scene: Scene, m: int, n: int, ink: Ink) -> str:
    """D[m, n] stretch by stretch; the stretches of the tile stand out."""
    parts = output_parts(scene, m, n)
    rows, mine = [], []
    values, total = column([part.value for part in parts])
    for number, (part, value) in enumerate(zip(parts, values, strict=True)):
        if part.k.start >= tile.k.start and part.k.stop <= tile.k.stop:
            mine.append(number)
        numbers = (part.a_scale, part.b_scale, part.code_sum)
        name = f"k = {span(part.k)}" + (" · this tile" if number in mine else "")
        rows.append((name, *map(short, numbers), value))
    rows.append((f"D[{m}, {n}], their sum", "", "", "", total))
    rows.append(("without FP8", "", "", "", short(unquantized(scene, m, n))))
    return grid(("stretch of K", "sA", "sB", "Σ a·b of codes", "sA · sB · Σ a·b"), rows, ink, marked=mine)


def unquantized(scene: Scene, m: int, n: int) -> float:
    """D[m, n] of the numbers before quantization, in float64, over the K that is drawn."""
    a, b = (
        scene.along_k(side, scene.operand(side).x.astype(np.float64), free)
        for side, free in ((Side.A, m), (Side.B, n))
    )
    return float(a @ b)


def where_applied(scene: Scene) -> str:
    """The place in the kernel where the scales are applied."""
    extents = [e for e in (scene.spec.a.tile.k, scene.spec.b.tile.k) if e is not WHOLE]
    if not extents:
        return (
            "The tensor core adds the codes of all of K; sA · sB multiplies the finished sum once, in the "
            "kernel's epilogue."
        )
    return (
        f"The tensor core adds the codes of {min(extents)} k, then sA · sB multiplies that partial sum "
        "inside the K loop, before it joins the running fp32 sum."
    )
