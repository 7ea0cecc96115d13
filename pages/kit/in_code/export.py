"""What a recipe is in the words of another library, decided by its data: a text, or why there is none."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum

from fp8core.formats import FORMATS, Format
from fp8core.linear import MATMULS, LayerTensor, Side
from fp8core.recipes import OperandSpec, Recipe
from fp8core.rotations import Rotation
from fp8core.scales import OuterScale, ScaleRule
from fp8core.tiles import WHOLE, TileShape

Cell = tuple[str, Side]
X_FPROP, W_FPROP = ("fprop", Side.A), ("fprop", Side.B)
DY_DGRAD, W_DGRAD = ("dgrad", Side.A), ("dgrad", Side.B)
DY_WGRAD, X_WGRAD = ("wgrad", Side.A), ("wgrad", Side.B)
CELLS = (X_FPROP, W_FPROP, DY_DGRAD, W_DGRAD, DY_WGRAD, X_WGRAD)
READERS = {
    LayerTensor.X: (X_FPROP, X_WGRAD),
    LayerTensor.W: (W_FPROP, W_DGRAD),
    LayerTensor.DY: (DY_DGRAD, DY_WGRAD),
}
TENSOR, ROW = TileShape(WHOLE, WHOLE), TileShape(1, WHOLE)
E4M3, E5M2, E2M1 = (FORMATS[name] for name in ("e4m3", "e5m2", "e2m1"))


@dataclass(frozen=True, kw_only=True)
class Export:
    """A recipe as a library's own configuration: its text, or None and a sentence on why not."""

    library: str
    text: str | None
    why: str = ""
    notes: tuple[str, ...] = ()


def operands(recipe: Recipe) -> dict[Cell, OperandSpec | None]:
    """The six operands of a recipe."""
    return {cell: recipe.spec(MATMULS[cell[0]]).operand(cell[1]) for cell in CELLS}


def is_fast(recipe: Recipe, matmul: str) -> bool:
    """The FP8 tensor core keeps one sum over all of K, in fewer bits than fp32 has."""
    unit = recipe.spec(MATMULS[matmul]).accumulator
    return unit.promotion is WHOLE and unit.out.name != "fp32"


def cell_words(cell: Cell) -> str:
    """An operand in words, such as ``Wgrad's x``."""
    matmul = MATMULS[cell[0]]
    return f"{matmul.title}'s {matmul.operand(cell[1]).value}"


def difference(
    found: Mapping[Cell, OperandSpec | None], needed: Mapping[Cell, OperandSpec | None], owner: str
) -> str:
    """The first field in which operands differ from those that a library makes, in a sentence; else empty."""
    for cell, other in needed.items():
        own = found[cell]
        if own == other:
            continue
        if own is None or other is None:
            kept, made = ("bf16", "quantized") if own is None else ("quantized", "bf16")
            return f"{cell_words(cell)} is {kept}, and {owner} has it {made}"
        if own.saved_as is not None and other.saved_as is None:
            return f"{cell_words(cell)} is made of a saved copy, and {owner} makes it of the tensor itself"
        for name, value, there in _fields(own, other):
            if value != there:
                return f"{cell_words(cell)}: the {name} is {_words(value)}, and {owner} has {_words(there)}"
    return ""


def _fields(own: OperandSpec, other: OperandSpec) -> list[tuple[str, object, object]]:
    """Names and values of the fields of two operands, those of the scale rule beside the others."""
    pairs = [
        (field.name.replace("_", " "), getattr(own, field.name), getattr(other, field.name))
        for field in fields(OperandSpec)
        if field.name != "scale_rule"
    ]
    rules = own.scale_rule, other.scale_rule
    return pairs + [
        (f"scale's {field.name.replace('_', ' ')}", *(getattr(rule, field.name) for rule in rules))
        for field in fields(ScaleRule)
    ]


def _words(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, Format):
        return value.name
    if isinstance(value, Enum):
        return value.name.lower().replace("_", " ")
    if isinstance(value, TileShape):
        return tile_words(value)
    if isinstance(value, tuple):
        return ", ".join(f"{one:g}" for one in value)
    if isinstance(value, OuterScale):
        return _outer_words(value)
    if isinstance(value, Rotation):
        return f"{value.kind.value} of {value.size}"
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _outer_words(outer: OuterScale) -> str:
    if outer.constant is not None:
        return f"the number {outer.constant:.4g}"
    top = "" if outer.inner_max is None else f", inner ones up to {outer.inner_max:g}"
    return f"one for {_words(outer.tile)}{top}"


def tile_words(tile: TileShape) -> str:
    """Extents in a matmul's dims, such as ``1 × all``."""
    return " × ".join("all" if extent is WHOLE else str(extent) for extent in (tile.mn, tile.k))
