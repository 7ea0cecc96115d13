"""Section "One matmul": the linked picture, and the arithmetic of the tile that is pinned."""

import streamlit as st

from fp8core.linear import MATMULS, LayerShape, Side
from pages.kit.chart import draw_chart, room
from pages.kit.charts.ink import INKS, Ink
from pages.kit.controls import Controls
from pages.kit.look.presenter import projected
from pages.kit.notice import draw_notice, notices_wait
from pages.kit.recipes import draw_recipe, draw_source
from pages.kit.shared_controls import MATMUL, SEED
from pages.kit.shell import theme
from pages.kit.view import View, here, stage
from pages.kit.widgets import Place
from pages.tile_layouts.card import (
    element_table,
    heading,
    output_table,
    scale_table,
    title,
    where_applied,
)
from pages.tile_layouts.charts.picture import PIN, picture_frame, pinned_rows, tile_picture
from pages.tile_layouts.charts.scene import OperandTile, Scene
from pages.tile_layouts.clicks import clicked, remember
from pages.tile_layouts.controls import COLUMN, INPUT, OUTPUT_M, OUTPUT_N, ROW, SIDE
from pages.tile_layouts.data import scene
from pages.tile_layouts.words import (
    HARDWARE_SOURCES,
    granularities,
    hardware,
    notice,
    preparation_notes,
    second_copies,
)

KEY = "tile_picture"


def show(controls: Controls, layer: LayerShape) -> None:
    """Draw the section for the recipe, matmul and numbers that the controls hold."""
    view, ink = here(), INKS[theme()]
    recipe = draw_recipe(controls, view.control)
    matmul = MATMULS[controls.draw(MATMUL, view.control)]
    drawn = scene(recipe, matmul, controls.value(INPUT), controls.value(SEED), layer)
    draw_notice(notice(drawn))
    tile = _tile(controls, drawn)
    output = _output_element(controls, drawn, tile)
    picture, sums = stage().columns([62, 38], gap="medium")
    _picture(controls, picture, drawn, tile, output, ink)
    sums.html(_sum(drawn, tile, output, ink))
    st.html(title("Its first elements, and the largest", ink) + element_table(tile, drawn, ink))
    _explain(view, drawn)
    draw_source(recipe)


def _sum(drawn: Scene, tile: OperandTile, output: tuple[int, int], ink: Ink) -> str:
    """The scale of the tile, and what the tile adds to an element of D. A projector shows the sum alone."""
    adds = title(f"What it adds to D[{output[0]}, {output[1]}]", ink)
    scale = "" if projected() else scale_table(tile, drawn, ink)
    return heading(tile, drawn, ink) + scale + adds + output_table(tile, drawn, *output, ink)


def _explain(view: View, drawn: Scene) -> None:
    """Say how the scales come in, what people call the tiles, and what is done to the numbers before."""
    view.know.markdown(f"{where_applied(drawn)} {granularities(drawn)}")
    if said := preparation_notes(drawn):
        view.know.markdown("\n".join(f"- {line}" for line in said))
        specs = drawn.spec.quantized
        for page, label, wanted in (
            ("pages/rotations.py", "Why rotate?", any(spec.rotation for spec in specs)),
            ("pages/stochastic_rounding.py", "Why round at random?", any(spec.is_random for spec in specs)),
        ):
            if wanted:
                view.know.page_link(page, label=label, icon=":material/help:")
    if not notices_wait():
        view.know.markdown(second_copies(drawn))
    view.know.markdown(hardware(drawn.spec))
    view.know.caption(HARDWARE_SOURCES)


def _tile(controls: Controls, drawn: Scene) -> OperandTile:
    """The pinned tile as fields, for the keyboard and the address: a click sets them too."""
    side = Side(controls.draw(SIDE))
    rows, columns = drawn.grid_shape(side)
    row, column = (
        controls.draw(control, high=number - 1) if number > 1 else 0
        for control, number in ((ROW, rows), (COLUMN, columns))
    )
    return drawn.tile(side, row, column)


def _output_element(controls: Controls, drawn: Scene, tile: OperandTile) -> tuple[int, int]:
    """(m, n) of an element of D to which the tile adds; a field for each index that can be chosen."""
    m, n, _ = drawn.mnk
    chosen = []
    for control, choice in (
        (OUTPUT_M, tile.free if tile.side is Side.A else range(m)),
        (OUTPUT_N, tile.free if tile.side is Side.B else range(n)),
    ):
        if len(choice) == 1:
            chosen.append(choice.start)
        else:
            chosen.append(controls.draw(control, low=choice.start, high=choice.stop - 1))
    return chosen[0], chosen[1]


def _picture(
    controls: Controls, place: Place, drawn: Scene, tile: OperandTile, output: tuple[int, int], ink: Ink
) -> None:
    matmul, at = drawn.matmul, picture_frame(drawn, room())
    pinned = pinned_rows(drawn, at, tile.side, tile.row, tile.column, output)
    shown = draw_chart(
        tile_picture(drawn, at, pinned, ink, room()),
        place=place,
        key=KEY,
        is_rigid=True,
        on_select=lambda: _clicked(controls, drawn),
        selection_mode=[PIN],
        alt=f"{matmul.title} of {drawn.recipe.title}: A = {matmul.symbol(Side.A)} at the left in "
        f"{drawn.grid_shape(Side.A)} tiles, B = {matmul.symbol(Side.B)} above in {drawn.grid_shape(Side.B)} "
        f"tiles, D = {matmul.d.value} in the corner. The tile in row {tile.row}, column {tile.column} of "
        f"{tile.side.value} is outlined, with the elements it meets.",
    )
    remember(KEY, PIN, shown)


def _clicked(controls: Controls, drawn: Scene) -> None:
    """Pin the tile that was clicked."""
    place = clicked(KEY, PIN)
    if place:
        pin(controls, drawn, place["side"], place["row"], place["column"])


def pin(controls: Controls, drawn: Scene, name: str, row: int, column: int) -> None:
    """Pin a tile of A or B. Of D, pin the element, and the tile of the pinned operand that it needs."""
    if name == "D":
        m, n = drawn.tile(Side.A, row, 0).free.start, drawn.tile(Side.B, 0, column).free.start
        mine = {"row": row} if controls.value(SIDE) == Side.A.value else {"column": column}
        controls.preset(d_row=m, d_column=n, **mine)
    else:
        controls.preset(side=name, row=row, column=column)
