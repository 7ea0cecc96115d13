"""The fields of one operand and of its matmul. Each widget writes its part of the recipe's line."""

from collections.abc import Callable
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from fp8core.linear import Side
from pages.design.controls import BEGIN, CELL, CELL_KEYS, FINE
from pages.design.draft import Draft, draft_of
from pages.design.fields import (
    ACCUMULATOR,
    BASIC,
    FINER,
    OUT,
    Field,
    at,
    default_operand,
    saved_field,
)
from pages.kit.controls import Controls
from pages.kit.shared_controls import OWN
from pages.kit.view import more
from pages.kit.widgets import reported

QUANTIZED, BF16 = "quantized", "bf16"
_WIDTH, _MAIN = 158, 5
FIELD_KEY = "_design_field"


def draw_editor(controls: Controls, draft: Draft) -> None:
    """The chooser of the operand and its main fields; the further ones stand under "More controls"."""
    cell = controls.draw(CELL, st)
    matmul, side = CELL_KEYS[cell]
    operand = draft.operand(matmul, side)
    row = st.container(horizontal=True, gap="small", vertical_alignment="bottom")
    further = more().container(horizontal=True, gap="small", vertical_alignment="bottom")

    def write(line_with: Callable[[Any], str]) -> Callable[[Any], None]:
        return lambda value: put(controls, line_with(value))

    kept = Field(key="kept", label="Kept in", path=(), offers={name: name for name in (QUANTIZED, BF16)})
    whole = write(
        lambda name: draft.with_field(matmul, side, (), default_operand() if name == QUANTIZED else None)
    )
    _select(row, cell, kept, BF16 if operand is None else QUANTIZED, whole)
    if operand is not None:
        for number, field in enumerate(BASIC):
            _operand_field(row if number < _MAIN else further, cell, field, draft, matmul, side, write)
    for field in (ACCUMULATOR, OUT):
        name = field.path[0]
        into = write(lambda value, name=name: draft.with_matmul(matmul, name, value))
        _select(further, cell, field, draft.data[matmul][name], into)
    if operand is not None and controls.draw(FINE):
        fine = more().container(horizontal=True, gap="small")
        for field in (*FINER, saved_field(draft.data, matmul, side)):
            _operand_field(fine, cell, field, draft, matmul, side, write)
    _copy_buttons(controls, draft, matmul, side)


def _operand_field(
    place: DeltaGenerator,
    cell: str,
    field: Field,
    draft: Draft,
    matmul: str,
    side: Side,
    write: Callable[[Callable[[Any], str]], Callable[[Any], None]],
) -> None:
    """One field of the operand."""
    into = write(lambda value: draft.with_field(matmul, side, field.path, value))
    _select(place, cell, field, at(draft.data[matmul][side.value.lower()], field.path), into)


def _select(place: DeltaGenerator, cell: str, field: Field, value: Any, into: Callable[[Any], None]) -> None:
    """A list of the field's offers, at the value that the recipe has."""
    options, key = field.options(value), f"{FIELD_KEY} {cell} {field.key}"

    def change() -> None:
        if (label := reported(key)) is not None:
            into(options[label])

    # Each run says the value: the list is a mirror of the address, and a list that the browser makes anew
    # would else begin with its first offer.
    st.session_state[key] = next(label for label, offer in options.items() if offer == value)
    place.selectbox(
        field.label,
        list(options),
        key=key,
        help=field.help or None,
        on_change=change,
        width=2 * _WIDTH if field is ACCUMULATOR else _WIDTH,
    )


def put(controls: Controls, line: str) -> None:
    """Make a line the recipe of the page; a callback. Nothing is written for the recipe it begins with."""
    same = line == draft_of("", controls.value(BEGIN)).line
    controls.preset(**{OWN.key: "" if same else line})


def _copy_buttons(controls: Controls, draft: Draft, matmul: str, side: Side) -> None:
    """Buttons that take one operand for others."""
    row = more().container(horizontal=True)
    row.button(
        "Take it for all six operands",
        icon=":material/content_copy:",
        on_click=lambda: put(controls, draft.with_operand_everywhere(matmul, side)),
        help="Every operand becomes as this one is; a saved copy is not taken along.",
    )
    row.button(
        "All back to the recipe it began with",
        icon=":material/undo:",
        disabled=draft.line == draft_of("", controls.value(BEGIN)).line,
        on_click=lambda: put(controls, draft_of("", controls.value(BEGIN)).line),
    )
