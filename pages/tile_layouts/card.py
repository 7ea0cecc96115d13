"""The arithmetic of one tile: its scale, some of its codes, and its share in one element of D."""

from html import escape

import numpy as np
from numpy.typing import NDArray

from fp8core.contraction import PartialSum, partial_sums
from fp8core.linear import Side
from fp8core.quantize import scaled
from fp8core.tiles import WHOLE, TileGrid
from pages.kit.charts.ink import Ink
from pages.kit.charts.words import column, short, span
from pages.kit.tables import colored, grid, note, pairs
from pages.tile_layouts.charts.marks import stored_slice
from pages.tile_layouts.charts.scene import OperandTile, Scene
from pages.tile_layouts.scale_steps import scale_steps

SHOWN = 4


def free_dim(side: Side) -> str:
    return "m" if side is Side.A else "n"


def title(text: str, ink: Ink) -> str:
    """HTML of a title above a table."""
    return f'<div style="font-size:15px;color:{ink.text};margin-top:10px">{escape(text)}</div>'


def heading(tile: OperandTile, scene: Scene, ink: Ink) -> str:
    """The name of the tile."""
    dim = free_dim(tile.side)
    name = f"{tile.side.value} = {scene.matmul.symbol(tile.side)}, tile "
    free, k = colored(f"{dim} = {span(tile.free)}", dim, ink), colored(f"k = {span(tile.k)}", "k", ink)
    return f'<div style="font-size:15px;color:{ink.text}">{name}{free}, {k}</div>'


def scale_table(tile: OperandTile, scene: Scene, ink: Ink) -> str:
    """The way from the tile's largest |x| to its scale."""
    drawn, operand = scene.operand(tile.side), scene.recipe.operand(scene.matmul, tile.side)
    where = stored_slice(scene.matmul.operand(tile.side), tile.stored.rows, tile.stored.columns)
    rows = [
        ("as stored", where),
        ("elements", f"{len(tile.stored.rows) * len(tile.stored.columns):,}"),
    ]
    if operand is None:
        return pairs([*rows, ("largest |x|", short(tile.amax)), ("scale", "none: it stays bf16")], ink)
    return pairs([*rows, *scale_steps(operand, tile, drawn.x[_part(tile)])], ink)


def element_table(tile: OperandTile, scene: Scene, ink: Ink) -> str:
    """The first elements of the tile and its largest: from x to the code and back."""
    drawn, part = scene.operand(tile.side), _part(tile)
    top, left = tile.stored.rows.start, tile.stored.columns.start
    x, codes, numbers = drawn.x[part], drawn.codes(*part), drawn.decoded(*part)
    digits = -(-drawn.format.bits // 4)
    if drawn.scales is None:
        head, columns = ("element", "x", "code", "bf16"), (drawn.given[part], None, numbers)
    else:
        divided = scaled(x, TileGrid(x.shape, (WHOLE, WHOLE)), _effective(tile))
        head = ("element", _name_of_x(scene, tile.side), "x/scale", "code", "code·scale")
        columns = (x, divided, numbers * tile.exact)
    places = _places(tile, scene)
    largest = [number for number, place in enumerate(places) if abs(x[place]) == tile.amax]
    rows = []
    for place in places:
        before, after, value = (None if c is None else short(c[place], 3) for c in columns)
        code = f"0x{int(codes[place]):0{digits}x}"
        row = (f"[{top + place[0]},{left + place[1]}]", before, after, code, value)
        rows.append(tuple(cell for cell in row if cell is not None))
    return grid(head, rows, ink, marked=largest) + note("shaded: the largest |x|", ink)


def _effective(tile: OperandTile) -> NDArray[np.float32]:
    """float32[1, 1]: the scale of which the quantizer takes the reciprocal."""
    outer = np.float32(1.0 if tile.outer is None else tile.outer.scale)
    return np.array([[np.float32(tile.scale) * outer]], np.float32)


def _name_of_x(scene: Scene, side: Side) -> str:
    """Name of the numbers in a tile: x, or what a rotation or a saved copy made of it."""
    spec = scene.spec.operand(side)
    return "x rotated" if spec.rotation else "x saved" if spec.saved_as else "x"


def _places(tile: OperandTile, scene: Scene) -> list[tuple[int, int]]:
    """(row, column) inside the stored tile of its first elements along k, then of its largest."""
    along_rows = scene.matmul.k_is_rows(tile.side)
    first = [(k, 0) if along_rows else (0, k) for k in range(len(tile.k[:SHOWN]))]
    sizes = np.abs(scene.operand(tile.side).x[_part(tile)])
    row, column = np.unravel_index(int(np.argmax(sizes)), sizes.shape)
    largest = (int(row), int(column))
    return first if largest in first else [*first, largest]


def _part(tile: OperandTile) -> tuple[slice, slice]:
    """The tile's part of its stored tensor."""
    rows, columns = tile.stored.rows, tile.stored.columns
    return slice(rows.start, rows.stop), slice(columns.start, columns.stop)


def output_parts(scene: Scene, m: int, n: int) -> tuple[PartialSum, ...]:
    """The stretches of D[m, n] over the K that is drawn."""
    (a, a_scale), (b, b_scale) = (
        (scene.factors_along_k(side, free), scene.scale_along_k(side, free))
        for side, free in ((Side.A, m), (Side.B, n))
    )
    return partial_sums(a, b, a_scale, b_scale, *(scene.spec.extent(side) for side in Side))


def output_table(tile: OperandTile, scene: Scene, m: int, n: int, ink: Ink) -> str:
    """D[m, n] stretch by stretch; the stretches of the tile stand out."""
    spec, parts = scene.spec, output_parts(scene, m, n)
    rows, mine = [], []
    values, total = column([part.value for part in parts])
    for number, (part, value) in enumerate(zip(parts, values, strict=True)):
        if part.k.start >= tile.k.start and part.k.stop <= tile.k.stop:
            mine.append(number)
        scales = [part.a_scale] * bool(spec.a) + [part.b_scale] * bool(spec.b)
        name = span(part.k)
        rows.append((name, *map(short, (*scales, part.code_sum)), value))
    symbols = [f"s{side.value}" for side in Side if spec.operand(side)]
    blank = ("",) * (len(symbols) + 1)
    rows.append(("their sum", *blank, total))
    rows.append(("exact", *blank, short(unquantized(scene, m, n))))
    a, b = ("A" if spec.a is None else "a"), ("B" if spec.b is None else "b")
    head = ("k", *symbols, f"Σ {a}·{b}", "adds")
    return grid(head, rows, ink, marked=mine)


def unquantized(scene: Scene, m: int, n: int) -> float:
    """D[m, n] of the numbers before quantization, in float64, over the K that is drawn."""
    a, b = (
        scene.along_k(side, scene.operand(side).given, free).astype(np.float64)
        for side, free in ((Side.A, m), (Side.B, n))
    )
    return float(a @ b)


def where_applied(scene: Scene) -> str:
    """The place in the kernel where the scales are applied."""
    spec = scene.spec
    scales = " · ".join(f"s{side.value}" for side in Side if spec.operand(side))
    added = "codes" if len(spec.quantized) > 1 else "products"
    if not scales:
        return "The tensor core multiplies bf16 numbers and adds up all of K. There are no scales to apply."
    if not spec.extents_along_k:
        return (
            f"The tensor core adds the {added} of all of K; {scales} multiplies the finished sum once, in "
            "the kernel's epilogue."
        )
    return (
        f"The tensor core adds the {added} of {min(spec.extents_along_k)} k, then {scales} multiplies that "
        "partial sum inside the K loop, before it joins the running fp32 sum."
    )
