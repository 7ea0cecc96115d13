"""Section "One matmul": the linked picture, and the arithmetic of the tile that is pinned."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from fp8core.linear import MATMULS, LayerShape, Side
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS, Ink
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice, notices_wait
from pages.kit.recipes import recipe_of
from pages.kit.shared_controls import MATMUL, SEED
from pages.kit.shell import theme
from pages.sections.tiles.card import (
    element_table,
    heading,
    output_table,
    scale_table,
    where_applied,
)
from pages.sections.tiles.charts.picture import PIN, pinned_rows, tile_picture
from pages.sections.tiles.charts.scene import OperandTile, Scene
from pages.sections.tiles.clicks import clicked, remember
from pages.sections.tiles.controls import COLUMN, IN, INPUT, OUT, OUTPUT_M, OUTPUT_N, ROW, SIDE, TOKENS
from pages.sections.tiles.data import scene
from pages.sections.tiles.words import (
    HARDWARE_SOURCES,
    granularities,
    hardware,
    notice,
    preparation_notes,
    second_copies,
)

KEY = "tile_picture"
PICTURE_WIDTH, CARD_WIDTH = 500, 300
FIELD_WIDTH, OUTPUT_WIDTH = 92, 136


def show(controls: Controls, layer: LayerShape) -> None:
    """Draw the section for the recipe, matmul and numbers that the controls hold."""
    matmul, numbers = MATMULS[controls.value(MATMUL)], (controls.value(INPUT), controls.value(SEED))
    drawn = scene(recipe_of(controls), matmul, *numbers, layer)
    draw_notice(f"**Notice:** {notice(drawn)}")
    with st.container(horizontal=True, gap="small"):
        picture = st.container(width=PICTURE_WIDTH)
        card = st.container(width=CARD_WIDTH)
    tile = _tile(controls, card.container(horizontal=True, gap="small"), drawn)
    output = _output_element(controls, card.container(horizontal=True, gap="small"), drawn, tile)
    ink = INKS[theme()]
    with picture:
        _picture(controls, drawn, tile, output, ink)
    card.container(border=True).html(
        heading(tile, drawn, ink) + scale_table(tile, drawn, ink) + element_table(tile, drawn, ink)
    )
    st.header(f"What the tile adds to D[{output[0]}, {output[1]}]")
    st.markdown(f"{where_applied(drawn)} Over the {drawn.mnk[2]} k that are drawn:")
    st.html(output_table(tile, drawn, *output, ink))
    _preparation(drawn)
    if not notices_wait():
        st.markdown(second_copies(drawn))
    st.markdown(hardware(drawn.spec))
    st.caption(HARDWARE_SOURCES)


def _preparation(drawn: Scene) -> None:
    """Say what happens to the numbers before and while they are rounded; link the pages that explain it."""
    said = preparation_notes(drawn)
    if not said:
        return
    st.markdown("\n".join(f"- {line}" for line in said))
    row = st.container(horizontal=True, gap="small")
    specs = drawn.spec.quantized
    for page, label, wanted in (
        ("pages/rotations.py", "Why rotate?", any(spec.rotation for spec in specs)),
        ("pages/stochastic_rounding.py", "Why round at random?", any(spec.is_random for spec in specs)),
    ):
        if wanted:
            row.page_link(page, label=label, icon=":material/help:")


def _tile(controls: Controls, place: DeltaGenerator, drawn: Scene) -> OperandTile:
    """The pinned tile as fields, for the keyboard and the address: a click sets them too."""
    side = Side(controls.draw(SIDE, place))
    rows, columns = drawn.grid_shape(side)
    row, column = (
        controls.draw(control, place.container(width=FIELD_WIDTH), high=number - 1) if number > 1 else 0
        for control, number in ((ROW, rows), (COLUMN, columns))
    )
    return drawn.tile(side, row, column)


def _output_element(
    controls: Controls, place: DeltaGenerator, drawn: Scene, tile: OperandTile
) -> tuple[int, int]:
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
            at = place.container(width=OUTPUT_WIDTH)
            chosen.append(controls.draw(control, at, low=choice.start, high=choice.stop - 1))
    return chosen[0], chosen[1]


def _picture(controls: Controls, drawn: Scene, tile: OperandTile, output: tuple[int, int], ink: Ink) -> None:
    matmul, pinned = drawn.matmul, pinned_rows(drawn, tile.side, tile.row, tile.column, output)
    shown = draw_chart(
        tile_picture(drawn, pinned, ink),
        key=KEY,
        is_rigid=True,
        least=PICTURE_WIDTH,
        on_select=lambda: _clicked(controls, drawn),
        selection_mode=[PIN],
        alt=f"{matmul.title} of {drawn.recipe.title}: A = {matmul.symbol(Side.A)} at the left in "
        f"{drawn.grid_shape(Side.A)} tiles, B = {matmul.symbol(Side.B)} above in {drawn.grid_shape(Side.B)} "
        f"tiles, D = {matmul.d.value} in the corner. The tile in row {tile.row}, column {tile.column} of "
        f"{tile.side.value} is outlined, with the elements it meets.",
    )
    remember(KEY, PIN, shown)
    st.caption(
        "Point at a tile to see what it meets; click to keep it. The small square: D[m, n] below. "
        + granularities(drawn)
    )


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


def layer_of(controls: Controls) -> LayerShape:
    """The layer's true sizes, from the controls."""
    return LayerShape(controls.value(TOKENS), controls.value(IN), controls.value(OUT))
