"""Section "Recipe": the fields of one operand and of its matmul, and the recipe as a JSON file.

A field's value is plain data, as in a recipe's file. Each list writes its part of the recipe's line.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import getitem
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from fp8core.accumulators import ACCUMULATORS
from fp8core.linear import MATMULS
from fp8core.recipes import RECIPES
from fp8core.recipes.plain import ALL, ELEMENTS, FITS, OUTS, ROTATIONS, ROUNDINGS, SCALES, Plain, to_plain
from fp8core.recipes.text import LONGEST_JSON, from_json, to_text
from fp8core.rotations import NVFP4_SIGNS, RotationKind
from fp8core.scales import Fit
from pages.design.draft import BEGIN, CELL, CELL_KEYS, Draft, draft_of
from pages.kit import address
from pages.kit.controls import Controls
from pages.kit.inert import plain
from pages.kit.shared_controls import OWN
from pages.kit.view import here

_SIZES = {str(size): size for size in (*(1 << i for i in range(11)), ALL)}
_WHOLE_TENSOR = {"mn": ALL, "k": ALL}
_FIT_WORDS = {
    Fit.NEAREST: "amax / Qmax",
    Fit.FLOOR: "2ⁿ, floor",
    Fit.EVEN: "2ⁿ, even",
    Fit.CEIL: "2ⁿ, ceil",
    Fit.ROUND_UP: "2ⁿ, round up",
}
_ROTATION_WORDS = {
    RotationKind.HADAMARD: "Hadamard",
    RotationKind.NVFP4_HADAMARD: "NVFP4's signs",
    RotationKind.SIGNED_HADAMARD: "random signs",
}
NO_SEARCH = [1.0]
# Factors of amax, the usual scale first: it stays where no other one is better.
_SEARCHES: dict[str, list[float]] = {
    "none": NO_SEARCH,
    "6 or 4": [1.0, 1.5],
    "half or double": [1.0, 0.5, 2.0],
    "seven near 1": [1.0, 0.7, 0.8, 0.9, 1.1, 1.2, 1.3],
}


@dataclass(frozen=True)
class Field:
    """One field of an operand or a matmul. `path` leads to its value, `offers` has values by their labels."""

    label: str
    path: tuple[str, ...]
    offers: Mapping[str, Any]
    help: str | None = None
    width: int = 134

    @property
    def key(self) -> str:
        return ".".join(self.path)

    def options(self, value: Any) -> dict[str, Any]:
        """The offers, after the recipe's own `value` if it is none of them."""
        if any(value == offer for offer in self.offers.values()):
            return dict(self.offers)
        return {_text(value): value, **self.offers}


def _text(value: Any) -> str:
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
FIELDS = (
    Field("Format", ("format",), {name: name for name in ELEMENTS}),
    Field(
        "Tile: rows (mn)",
        ("tile", "mn"),
        _SIZES,
        "Elements along the free dim, M of A or N of B, that share a scale.",
    ),
    Field(
        "Tile: along K",
        ("tile", "k"),
        _SIZES,
        "Elements along K, the dim that is summed, that share a scale.",
    ),
    Field(
        "Scale's fit",
        ("scale", "fit"),
        {_FIT_WORDS[fit]: name for name, fit in FITS.items()},
        "How the scale follows from amax, the largest |x| of its tile. 2ⁿ: powers of two only.",
    ),
    Field("Scale's format", ("scale", "format"), {name: name for name in SCALES}),
    Field(
        "Outer scale",
        ("scale", "outer"),
        _OUTERS,
        "A second scale, for the tensor or for each row: it brings those of the tiles into the range of "
        "their format. 256: they come up to 256 instead of their format's largest value. Times 4/3: a "
        "constant, which keeps 2ⁿ with floor from saturating.",
    ),
    Field("Rounding", ("rounding",), {name.replace("_", " "): name for name in ROUNDINGS}),
    Field(
        "Rotation along K",
        ("rotation",),
        _TURNS,
        "Both operands of a matmul have the same one; then it cancels in the product.",
    ),
    Field(
        "Scale search",
        ("scale", "search"),
        _SEARCHES,
        "amax is multiplied by each factor, and the scale with the least squared error is kept. 6 or 4: "
        "factors 1 and 1.5. Half or double: the neighboring powers of two. Seven near 1: 0.7 to 1.3.",
    ),
    Field(
        "amax floor",
        ("scale", "amax_floor"),
        {"0": 0.0, "1e-12": 1e-12, "1e-4": 1e-4},
        "An amax below it counts as that.",
    ),
    Field(
        "History of amax",
        ("scale", "history"),
        {"none": 0, "16 steps": 16, "1,024 steps": 1024},
        "Delayed scaling: the largest amax of earlier steps decides. Only for tiles of a whole tensor.",
    ),
    Field(
        "amax is brought to",
        ("scale", "target"),
        {"Qmax": None, "15": 15.0, "224": 224.0},
        "A tapered format, such as hif8, is finest far below its largest value.",
    ),
)
SOURCE_FIELD = Field(
    "Made of",
    ("saved_as",),
    {"the tensor": None},
    "DeepSeek-V3 keeps one copy of the activations and makes Wgrad's out of it.",
)
MATMUL_FIELDS = (
    Field(
        "Accumulation",
        ("accumulator",),
        {one.title: name for name, one in ACCUMULATORS.items()},
        "What sums the products of this matmul.",
        width=284,
    ),
    Field("Format of D", ("out",), {name: name for name in OUTS}),
)
# An operand that was bf16 becomes e4m3 in one tile.
ONE_TILE = to_plain(RECIPES["per_tensor"])["fprop"]["a"]
FIELD_KEY = "_design_field"
# Lists under the sketch; the further ones stand under "More controls".
_MAIN = 5


def draw_editor(controls: Controls, draft: Draft) -> None:
    cell = controls.draw(CELL)
    matmul, side = CELL_KEYS[cell]
    operand, place = draft.operand(matmul, side), (matmul, side.value.lower())
    row = st.container(horizontal=True, gap="small", vertical_alignment="bottom")
    row.markdown(f"**{MATMULS[matmul].operand(side).value} in {MATMULS[matmul].title}**", width="content")
    further = here().more.container(horizontal=True, gap="small", vertical_alignment="bottom")
    storage = Field("Kept as", (), {"quantized": operand or ONE_TILE, "bf16": None})
    of_operand = (*FIELDS, *([SOURCE_FIELD] if operand["saved_as"] else ())) if operand else ()
    for number, field in enumerate((storage, *of_operand)):
        _draw_list(controls, draft, row if number < _MAIN else further, cell, field, place)
    for field in MATMUL_FIELDS:
        _draw_list(controls, draft, further, cell, field, (matmul,))
    base_line = draft_of("", controls.value(BEGIN)).line
    buttons = here().more.container(horizontal=True)
    buttons.button(
        "Take it for all six operands",
        icon=":material/content_copy:",
        on_click=lambda: put(controls, draft.with_operand_everywhere(matmul, side)),
        help="Every operand becomes as this one is; a saved copy is not taken along.",
    )
    buttons.button(
        "All back to the recipe it began with",
        icon=":material/undo:",
        disabled=draft.line == base_line,
        on_click=lambda: put(controls, base_line),
    )


def _draw_list(
    controls: Controls, draft: Draft, row: DeltaGenerator, cell: str, field: Field, place: tuple[str, ...]
) -> None:
    path, key = (*place, *field.path), f"{FIELD_KEY} {cell} {field.key}"
    value = reduce(getitem, path, draft.data)
    options = field.options(value)

    def change() -> None:
        if (label := st.session_state.get(key)) is not None:
            put(controls, draft.with_value(path, options[label]))

    # Each run sets the value, because the list mirrors the address: a new list would show its first offer.
    address.set_widget(key, next(label for label, offer in options.items() if offer == value))
    listener = address.unless_late(key, change)
    row.selectbox(field.label, list(options), key=key, help=field.help, on_change=listener, width=field.width)


def put(controls: Controls, line: str) -> None:
    """Make a line the recipe of the page; empty for the published one that it begins with."""
    same = line == draft_of("", controls.value(BEGIN)).line
    controls.preset(**{OWN.key: "" if same else line})


_FILE_KEY, _REFUSAL = "_design_file", "_design_refused"


def draw_files(controls: Controls, draft: Draft, place: DeltaGenerator) -> None:

    def take() -> None:
        if (file := st.session_state.get(_FILE_KEY)) is not None:
            st.session_state[_REFUSAL] = load(controls, file.read(LONGEST_JSON + 1))

    place.download_button(
        "Download JSON",
        json.dumps(draft.data, ensure_ascii=False, indent=2) + "\n",
        file_name="recipe.json",
        mime="application/json",
        icon=":material/download:",
        help="The whole recipe, every field written out.",
    )
    with place.popover("Load JSON", icon=":material/upload:"):
        st.file_uploader(
            "A recipe's file",
            type="json",
            key=_FILE_KEY,
            on_change=take,
            help=f"At most {LONGEST_JSON:,} bytes. Every field is checked.",
        )
    if refusal := st.session_state.get(_REFUSAL):
        st.error(f"The file was not loaded. {plain(refusal)}", icon=":material/error:")


def load(controls: Controls, data: bytes) -> str:
    """Make a file's recipe that of the page. Returns the sentence of a refusal, or ""."""
    try:
        put(controls, to_text(from_json(data)))
    except ValueError as error:
        return str(error)
    return ""
