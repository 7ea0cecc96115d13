"""A recipe as plain data: dicts, lists, names and numbers, as a file holds it, and back.

    {"name": …, "title": …, "family": …, "source": …, "remark": …,
     "fprop": {"a": operand or null, "b": operand or null, "accumulator": name, "out": format},
     "dgrad": …, "wgrad": …}

An operand is {"format", "tile": {"mn", "k"}, "scale", "rounding", "rotation", "saved_as"}; null stays bf16.
An extent of a tile is a number of elements, or "all". What is left out is at its default.
"""

import dataclasses
from enum import Enum
from typing import Any

from fp8core.accumulators import ACCUMULATORS
from fp8core.formats import FORMATS, FloatFormat
from fp8core.linear import MATMULS
from fp8core.recipes.reading import (
    Reader,
    Report,
    fields,
    one_of,
    or_none,
    real_from,
    several,
    text_of,
    value_that,
    whole_from,
)
from fp8core.recipes.recipe import Family, Recipe
from fp8core.recipes.spec import MatmulSpec, OperandSpec
from fp8core.rotations import Rotation, RotationKind
from fp8core.rounding import Rounding
from fp8core.scales import NO_SEARCH, Fit, OuterScale, ScaleRule
from fp8core.tiles import WHOLE, Extent, TileShape

Plain = dict[str, Any]

ALL = "all"
"""Extent of a tile that spans a dim."""

OWN_NAME, OWN_TITLE = "own", "Your own recipe"

LARGEST_EXTENT = LARGEST_ROTATION = LONGEST_HISTORY = 1 << 16
LARGEST_SEED = 0xFFFF_FFFF
MOST_FACTORS = 8
SMALLEST_NUMBER, LARGEST_NUMBER = 2.0**-100, 2.0**100
"""Range of numbers in scales: their products stay within fp32."""

ELEMENTS = {name: one for name, one in FORMATS.items() if one.signed and one.bytes == 1}
"""Formats of codes: signed, at most one byte."""
SCALES = {name: one for name, one in FORMATS.items() if isinstance(one, FloatFormat)}
OUTS = {name: FORMATS[name] for name in ("bf16", "fp16", "fp32")}
FITS = {fit.name.lower(): fit for fit in Fit}
ROUNDINGS = {rounding.name.lower(): rounding for rounding in Rounding}
ROTATIONS = {kind.name.lower(): kind for kind in RotationKind if kind is not RotationKind.ORTHOGONAL}
FAMILIES = {family.value: family for family in Family}
_NAMES = {"scale_rule": "scale"}


def to_plain(recipe: Recipe) -> Plain:
    """Recipe as plain data with every field. Raises ValueError for an accumulator outside ACCUMULATORS."""
    specs = {name: recipe.spec(matmul) for name, matmul in MATMULS.items()}
    if any(ACCUMULATORS.get(spec.accumulator.name) != spec.accumulator for spec in specs.values()):
        raise ValueError(f"a written recipe names one of {', '.join(ACCUMULATORS)}, got another accumulator")
    return {
        "name": recipe.name,
        "title": recipe.title,
        "family": recipe.family.value,
        "source": recipe.source,
        "remark": recipe.remark,
        **{name: _plain(spec) for name, spec in specs.items()},
    }


def from_plain(data: object) -> Recipe:
    """Recipe of plain data. Raises one ValueError that names every wrong field."""
    recipe, report = checked(data)
    report.raise_if_wrong()
    return recipe


def checked(data: object) -> tuple[Recipe, Report]:
    """Recipe of plain data, or WRONG, and a report of its faults."""
    report = Report()
    return _RECIPE(report, "", data), report


def at(node: Plain | None, path: tuple[str, ...]) -> Any:
    """Field of plain data; None below null."""
    for step in path:
        node = node[step] if node is not None else None
    return node


def _plain(value: Any) -> Any:
    """Write a member of an enum or a named thing by its name, another object by its fields."""
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, TileShape):
        return {"mn": _extent(value.mn), "k": _extent(value.k)}
    if hasattr(value, "name") or not dataclasses.is_dataclass(value):
        return getattr(value, "name", value)
    names = [field.name for field in dataclasses.fields(value)]
    return {_NAMES.get(name, name): _plain(getattr(value, name)) for name in names}


def _extent(extent: Extent) -> int | str:
    return ALL if extent is WHOLE else extent


_EXTENT = value_that(
    lambda value: value == ALL or (type(value) is int and 1 <= value <= LARGEST_EXTENT),
    f"{ALL!r} or a whole number from 1 to {LARGEST_EXTENT}",
    lambda value: WHOLE if value == ALL else value,
)
_NUMBER = real_from(SMALLEST_NUMBER, LARGEST_NUMBER)
_TILE = fields(TileShape, "an object with mn and k", mn=_EXTENT, k=_EXTENT)
_OUTER = fields(
    OuterScale,
    "null or an object with the outer level's tile",
    tile=_TILE,
    # From 1 on, the outer scale of the largest amax is a finite fp32 number in every format.
    inner_max=(or_none(real_from(1, LARGEST_NUMBER)), None),
    constant=(or_none(_NUMBER), None),
)
_SCALE = fields(
    ScaleRule,
    "an object with the scale's format and fit",
    format=one_of(SCALES),
    fit=one_of(FITS),
    amax_floor=(real_from(SMALLEST_NUMBER, LARGEST_NUMBER, or_zero=True), 0.0),
    outer=(or_none(_OUTER), None),
    history=(whole_from(0, LONGEST_HISTORY), 0),
    search=(several(_NUMBER, MOST_FACTORS), NO_SEARCH),
    target=(or_none(_NUMBER), None),
)
_ROTATION = fields(
    Rotation,
    "null or an object with the rotation's kind and size",
    kind=one_of(ROTATIONS),
    size=whole_from(1, LARGEST_ROTATION),
    seed=(whole_from(0, LARGEST_SEED), 0),
)


def _operand(saved_as: Reader) -> Reader:
    """Reader of an operand; `saved_as` reads its saved form."""
    return or_none(
        fields(
            lambda scale, **rest: OperandSpec(scale_rule=scale, **rest),
            "null for bf16, or an object with format, tile and scale",
            format=one_of(ELEMENTS),
            tile=_TILE,
            scale=_SCALE,
            rounding=(one_of(ROUNDINGS), Rounding.NEAREST_EVEN),
            rotation=(or_none(_ROTATION), None),
            saved_as=(saved_as, None),
        )
    )


_OPERAND = _operand(_operand(value_that(lambda value: value is None, "null in a saved copy")))
_MATMUL = fields(
    MatmulSpec,
    "an object with a, b, accumulator and out",
    a=_OPERAND,
    b=_OPERAND,
    accumulator=one_of(ACCUMULATORS),
    out=one_of(OUTS),
)
_RECIPE = fields(
    Recipe,
    "an object with fprop, dgrad and wgrad",
    name=(text_of(40, r"[a-z0-9_]+", "1 to 40 of the letters a to z, digits and _"), OWN_NAME),
    title=(text_of(60, r".*\S.*"), OWN_TITLE),
    family=(one_of(FAMILIES), Family.OWN),
    source=(text_of(400), ""),
    remark=(text_of(400), ""),
    fprop=_MATMUL,
    dgrad=_MATMUL,
    wgrad=_MATMUL,
)
