"""The numbers of one tile, code by code, below the error maps."""

import re
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import streamlit as st

from fp8core.formats import Format
from pages.kit.charts.words import short, span, stored_tile
from pages.kit.computing.compute import Call, computed
from pages.kit.controls import Controls
from pages.kit.stage.stage import Stage
from pages.kit.tables import EMPTY, grid
from pages.kit.view import page_ink
from pages.outliers.controls import NUMBERS
from pages.outliers.data import Codes, ErrorMap, codes_of, operand_of_key, tensor_of
from pages.outliers.subject import Subject

# Pixels that the maps give to the table; with less, a telephone has no room for its words.
TALL = 130
_PICK = Stage("picked_tile", Path(__file__).parent / "stage" / "pick.js")
_PLACE = re.compile(r"([1-9]\d?)\.(\d{1,9})\.(\d{1,9})", re.ASCII)


def place_of(controls: Controls, subject: Subject) -> tuple[str, int, int] | None:
    """Recipe, row and column in the text of NUMBERS; None without a place in these maps."""
    if (match := _PLACE.fullmatch(controls.value(NUMBERS))) is None:
        return None
    recipe, row, column = (int(number) for number in match.groups())
    rows, columns = subject.source.shape
    if recipe > len(subject.keys) or row >= rows or column >= columns:
        return None
    key = subject.keys[recipe - 1]
    return None if operand_of_key(key, subject.role) is None else (key, row, column)


def hear_clicks(controls: Controls, subject: Subject, maps: Mapping[str, ErrorMap]) -> None:
    """Write the place of a click on a map into NUMBERS."""
    # From the top: most bits first.
    keys = sorted(maps, key=lambda key: -operand_of_key(key, subject.role).spec.format.bits)

    def take(move: dict[str, Any]) -> None:
        if (at := move.get("map")) in range(len(keys)):
            part = maps[keys[at]]
            row, column = (
                line[max(0, min(int(move[way] * len(line)), len(line) - 1))]
                for line, way in ((part.rows, "down"), (part.columns, "across"))
            )
            controls.preset(**{NUMBERS.key: f"{subject.keys.index(keys[at]) + 1}.{row}.{column}"})

    _PICK.mount({}, key="outliers_pick", on_change=take)


def read(subject: Subject, place: tuple[str, int, int]) -> tuple[str, Codes] | None:
    """Recipe and codes at a place; until the pool has them, those of the last place."""
    request = (place[0], subject.role, subject.source, *place[1:])
    answer = computed("outliers_codes", request, [Call(codes_of, request)], label="Reading codes")
    return answer and (answer.arguments[0], answer.parts[0])


def draw(controls: Controls, subject: Subject, key: str, codes: Codes) -> None:
    operand = operand_of_key(key, subject.role)
    title = subject.titles.get(key, key)
    tile = stored_tile(tensor_of(subject.role), *operand.tile)
    dead = sum(value == 0 != x for x, value in zip(codes.x, codes.values, strict=True))
    fate = f"{dead or 'None'} of {len(codes.x)} {'become' if dead > 1 else 'becomes'} 0."
    scale = short(codes.scale)
    head = st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute")
    head.markdown(f"**{title}**, {where(codes)}, in a tile of {tile} with the scale {scale}. {fate}")
    head.button("Close", type="tertiary", on_click=controls.preset, kwargs={NUMBERS.key: ""})
    heads = ["", *map(str, codes.numbers)]
    st.html(grid(heads, lines(operand.spec.format, codes), page_ink(), is_sticky=True))


def where(codes: Codes) -> str:
    """The rows and columns, such as ``row 240, columns 32…47``."""
    return ", ".join(
        f"{name}{'s' * (len(part) > 1)} {span(part)}"
        for name, part in (("row", codes.rows), ("column", codes.columns))
    )


def lines(element: Format, codes: Codes) -> list[list[str]]:
    return [
        ["x", *(short(x, 3) for x in codes.x)],
        ["x ÷ scale", *(short(x / codes.scale, 3) if codes.scale else EMPTY for x in codes.x)],
        ["code", *(spelling(element, code) for code in codes.codes)],
        ["code × scale", *(short(value, 3) for value in codes.values)],
        ["error", *(short(value - x, 2) for x, value in zip(codes.x, codes.values, strict=True))],
    ]


def spelling(element: Format, code: int) -> str:
    """The bits of a code by their roles, such as ``0 1011 110``."""
    bits = iter(f"{code:0{element.bits}b}")
    return " ".join("".join(next(bits) for _ in same) for _, same in groupby(element.layout(code)))
