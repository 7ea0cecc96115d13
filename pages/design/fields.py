"""The fields of an operand, each with the values that the page offers and their words.

A value is plain data, as a recipe's file has it. The value that a recipe has is always among the offers.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fp8core.accumulators import ACCUMULATORS
from fp8core.formats import FORMATS
from fp8core.linear import Side
from fp8core.recipes.plain import ALL, ELEMENTS, FITS, OUTS, ROTATIONS, ROUNDINGS, SCALES, Plain
from fp8core.rotations import NVFP4_SIGNS, RotationKind
from fp8core.scales import Fit
from pages.design.draft import first_read

_EXTENTS = (*(1 << i for i in range(11)), ALL)
_WHOLE_TENSOR = {"mn": ALL, "k": ALL}
_FIT_WORDS = {
    Fit.NEAREST: "amax / Qmax",
    Fit.FLOOR: "2ⁿ, floor",
    Fit.EVEN: "2ⁿ, even",
    Fit.CEIL: "2ⁿ, ceil",
    Fit.ROUND_UP: "2ⁿ, round up",
}
_ROUNDING_WORDS = {
    "nearest_even": "nearest even",
    "nearest_away": "nearest away",
    "toward_zero": "toward zero",
    "stochastic": "stochastic",
}
_ROTATION_WORDS = {
    RotationKind.HADAMARD: "Hadamard",
    RotationKind.NVFP4_HADAMARD: "NVFP4's signs",
    RotationKind.SIGNED_HADAMARD: "random signs",
}
NO_SEARCH = [1.0]
SEARCHES: dict[str, list[float]] = {
    "none": NO_SEARCH,
    "6 or 4": [1.0, 1.5],
    "half or double": [1.0, 0.5, 2.0],
    "seven near 1": [1.0, 0.7, 0.8, 0.9, 1.1, 1.2, 1.3],
}
"""Factors of amax, the usual scale first: it is kept where another one is no better."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """One field of an operand: its place in the plain data, its label, and the values that are offered."""

    key: str
    label: str
    path: tuple[str, ...]
    offers: Mapping[str, Any]
    help: str = ""

    def options(self, value: Any) -> dict[str, Any]:
        """Labels and values; an unusual value that the recipe has comes first."""
        if any(value == offer for offer in self.offers.values()):
            return dict(self.offers)
        return {self.written(value): value, **self.offers}

    def written(self, value: Any) -> str:
        """A value that has no words of its own."""
        if self.key == "rotation":
            return f"{_ROTATION_WORDS[ROTATIONS[value['kind']]]} {value['size']}, seed {value['seed']}"
        if isinstance(value, dict):
            return "as in the file: " + json.dumps(value)[:60]
        return ", ".join(f"{one:g}" for one in value) if isinstance(value, list) else f"{value:g}"


def _outer(tile: Plain, inner_max: float | None = None, constant: float | None = None) -> Plain:
    return {"tile": tile, "inner_max": inner_max, "constant": constant}


_OUTERS = {
    "none": None,
    "fp32, tensor": _outer(_WHOLE_TENSOR),
    "fp32, tensor, 256": _outer(_WHOLE_TENSOR, inner_max=256.0),
    "fp32, row": _outer({"mn": 1, "k": ALL}),
    "times 4/3": _outer(_WHOLE_TENSOR, constant=4 / 3),
}
_TURNS = {
    "none": None,
    **{
        f"{_ROTATION_WORDS[kind]} {size}": {"kind": name, "size": size, "seed": 0}
        for name, kind in ROTATIONS.items()
        for size in ((len(NVFP4_SIGNS),) if kind is RotationKind.NVFP4_HADAMARD else (16, 32, 64, 128))
    },
}
FORMAT = Field(
    key="format",
    label="Format",
    path=("format",),
    offers={name: name for name in ELEMENTS},
    help="The format of the codes.",
)
BASIC = (
    FORMAT,
    Field(
        key="mn",
        label="Tile: rows (mn)",
        path=("tile", "mn"),
        offers={str(one): one for one in _EXTENTS},
        help="Elements along the free dim, M of A or N of B, that share a scale.",
    ),
    Field(
        key="k",
        label="Tile: along K",
        path=("tile", "k"),
        offers={str(one): one for one in _EXTENTS},
        help="Elements along K, the dim that is summed, that share a scale.",
    ),
    Field(
        key="scale",
        label="Scale's format",
        path=("scale", "format"),
        offers={name: name for name in SCALES},
    ),
    Field(
        key="fit",
        label="Scale's fit",
        path=("scale", "fit"),
        offers={_FIT_WORDS[fit]: name for name, fit in FITS.items()},
        help="How the scale follows from amax, the largest |x| of its tile. 2ⁿ: powers of two only.",
    ),
    Field(
        key="outer",
        label="Outer scale",
        path=("scale", "outer"),
        offers=_OUTERS,
        help="A second scale, for the tensor or for each row: it brings those of the tiles into the range of "
        "their format. 256: they come up to 256 instead of their format's largest value. Times 4/3: a "
        "constant, which keeps 2ⁿ with floor from saturating.",
    ),
    Field(
        key="rounding",
        label="Rounding",
        path=("rounding",),
        offers={_ROUNDING_WORDS[name]: name for name in ROUNDINGS},
    ),
    Field(
        key="rotation",
        label="Rotation along K",
        path=("rotation",),
        offers=_TURNS,
        help="Both operands of a matmul have the same one; then it cancels in the product.",
    ),
    Field(
        key="search",
        label="Scale search",
        path=("scale", "search"),
        offers=SEARCHES,
        help="amax is multiplied by each factor, and the scale with the least squared error is kept. 6 or 4: "
        "factors 1 and 1.5. Half or double: the neighboring powers of two. Seven near 1: 0.7 to 1.3.",
    ),
)
FINER = (
    Field(
        key="floor",
        label="amax floor",
        path=("scale", "amax_floor"),
        offers={"0": 0.0, "1e-12": 1e-12, "1e-4": 1e-4},
        help="An amax below it counts as that.",
    ),
    Field(
        key="history",
        label="History of amax",
        path=("scale", "history"),
        offers={"none": 0, "16 steps": 16, "1,024 steps": 1024},
        help="Delayed scaling: the largest amax of earlier steps decides. Only for tiles of a whole tensor.",
    ),
    Field(
        key="target",
        label="amax is brought to",
        path=("scale", "target"),
        offers={"Qmax": None, "15": 15.0, "224": 224.0},
        help="A tapered format, such as hif8, is finest far below its largest value.",
    ),
)
ACCUMULATOR = Field(
    key="accumulator",
    label="Accumulation",
    path=("accumulator",),
    offers={one.title: name for name, one in ACCUMULATORS.items()},
    help="What sums the products of this matmul.",
)
OUT = Field(
    key="out",
    label="Format of D",
    path=("out",),
    offers={name: name for name in OUTS},
)


def saved_field(data: Plain, matmul: str, side: Side) -> Field:
    """The field of a saved copy: it offers the copy that another matmul of the step has made already."""
    earlier = first_read(data, matmul, side)
    offers = {"the tensor": None}
    if earlier is not None:
        offers["an earlier copy"] = earlier
    return Field(
        key="saved",
        label="Made of",
        path=("saved_as",),
        offers=offers,
        help="DeepSeek-V3 keeps one copy of the activations and makes Wgrad's out of it.",
    )


def at(operand: Plain, path: tuple[str, ...]) -> Any:
    """The value at a path."""
    node: Any = operand
    for step in path:
        node = node[step]
    return node


def default_operand() -> Plain:
    """What an operand becomes that was bf16: e4m3 in one tile."""
    e4m3, fp32 = FORMATS["e4m3"].name, FORMATS["fp32"].name
    scale = {"format": fp32, "fit": "nearest", "amax_floor": 0.0, "outer": None, "history": 0}
    return {
        "format": e4m3,
        "tile": dict(_WHOLE_TENSOR),
        "scale": scale | {"search": NO_SEARCH, "target": None},
        "rounding": "nearest_even",
        "rotation": None,
        "saved_as": None,
    }
