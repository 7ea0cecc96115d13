"""A recipe of one's own: its error beside published ones of equal bits, and the effect of each choice.

A knob is one field of the operands. It is reset in every operand where the recipe differs from its base; all
else stays.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache

from fp8core.costs import bits_per_element
from fp8core.experiments.layer_error import Tensors, layer_errors, truths
from fp8core.inputs import InputKind, draw_operand
from fp8core.linear import MATMULS, OPERANDS, LayerShape, Side
from fp8core.recipes import RECIPES, Recipe
from fp8core.recipes.compact import to_line
from fp8core.recipes.plain import Plain, at, checked
from fp8core.recipes.text import own_recipe

LAYER = LayerShape(tokens=512, in_=1024, out=512)
"""Layer of the comparison."""

CELLS = tuple((name, side) for name in MATMULS for side in Side)
"""Six operands of a recipe, by matmul and side."""

KNOBS: dict[str, tuple[tuple[str, ...], ...]] = {
    "format": (("format",),),
    "tile": (("tile",),),
    "scale": (("scale", "format"), ("scale", "fit"), ("scale", "outer"), ("scale", "target")),
    "amax floor": (("scale", "amax_floor"),),
    "history": (("scale", "history"),),
    "search": (("scale", "search"),),
    "rounding": (("rounding",),),
    "rotation": (("rotation",),),
    "saved copy": (("saved_as",),),
}
"""Fields of an operand in plain data that one knob sets."""
BF16 = "bf16"
"""Knob of an operand that is quantized in only one of the recipes."""


@dataclass(frozen=True, kw_only=True)
class Knob:
    """A choice that differs, its operands, and the line of the recipe without it.

    `line` is None if that recipe is refused, for `reason`.
    """

    name: str
    cells: tuple[tuple[str, Side], ...]
    line: str | None
    reason: str = ""


def knobs(data: Plain, base: Plain) -> tuple[Knob, ...]:
    """Choices in which a recipe, as plain data, differs from another."""
    pairs = {
        (name, side): (data[name][side.value.lower()], base[name][side.value.lower()]) for name, side in CELLS
    }
    lone = [cell for cell, (own, was) in pairs.items() if (own is None) != (was is None)]
    knobs_here = [_knob(BF16, lone, data, base, ((),))] if lone else []
    for name, paths in KNOBS.items():
        cells = [
            cell
            for cell, (own, was) in pairs.items()
            if own is not None and was is not None and any(at(own, path) != at(was, path) for path in paths)
        ]
        if cells:
            knobs_here.append(_knob(name, cells, data, base, paths))
    return tuple(knobs_here)


def _knob(
    name: str,
    cells: Sequence[tuple[str, Side]],
    data: Plain,
    base: Plain,
    paths: Sequence[tuple[str, ...]],
) -> Knob:
    without = deepcopy(data)
    for matmul, side in cells:
        key = side.value.lower()
        for path in paths:
            *above, last = (key, *path)
            at(without[matmul], above)[last] = deepcopy(at(base[matmul][key], path))
    _, report = checked(without)
    reason = next(iter(report.wrong + report.refused), "")
    return Knob(name=name, cells=tuple(cells), line=None if reason else to_line(without), reason=reason)


def mean_bits(recipe: Recipe, layer: LayerShape) -> float:
    """Mean bits of an element of a step's six operands, scales included."""
    bits = elements = 0.0
    for name, side in CELLS:
        matmul = MATMULS[name]
        shape = layer.of(matmul.operand(side))
        count = shape[0] * shape[1]
        bits += bits_per_element(recipe.operand(matmul, side), shape) * count
        elements += count
    return bits / elements


def nearest_published(recipe: Recipe, layer: LayerShape) -> tuple[Recipe, ...]:
    """Two published recipes of the nearest bits, except equal ones."""
    bits, published = mean_bits(recipe, layer), _published_bits(layer)
    matmuls = MATMULS.values()
    others = [
        name for name, one in RECIPES.items() if any(one.spec(each) != recipe.spec(each) for each in matmuls)
    ]
    return tuple(RECIPES[name] for name in sorted(others, key=lambda name: abs(published[name] - bits))[:2])


@lru_cache(maxsize=4)
def _published_bits(layer: LayerShape) -> dict[str, float]:
    return {name: mean_bits(recipe, layer) for name, recipe in RECIPES.items()}


def result_errors(line: str, kind: str, seed: int) -> dict[str, float]:
    """Relative error of each matmul's result by name, for the recipe of a line.

    Inputs are of `kind`, an InputKind's value, in LAYER. Products are summed in float64, so the error is the
    operands'. Raises ValueError for a line that is no recipe.
    """
    recipe = own_recipe(line)
    tensors, exact = _inputs(kind, seed)
    return {name: error.rel_err for name, error in layer_errors(recipe, tensors, exact, seed).items()}


@lru_cache(maxsize=4)
def _inputs(kind: str, seed: int) -> tuple[Tensors, dict[str, object]]:
    tensors = {
        tensor: draw_operand(InputKind(kind), tensor, LAYER.of(tensor), 3 * seed + place, fan_in=LAYER.in_)
        for place, tensor in enumerate(OPERANDS)
    }
    return tensors, truths(tensors)
