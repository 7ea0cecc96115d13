"""Section "Every recipe": small multiples of all recipes and matmuls; a click or a button opens one."""

import streamlit as st

from fp8core.linear import MATMULS, LayerShape
from fp8core.recipes import RECIPES
from pages.kit.chart import draw_chart
from pages.kit.controls import Controls
from pages.kit.shared_controls import SEED
from pages.kit.shell import theme
from pages.sections.tiles.charts.overview import OPEN
from pages.sections.tiles.clicks import clicked, remember
from pages.sections.tiles.controls import INPUT
from pages.sections.tiles.data import overview_spec

KEY, LEAST_WIDTH = "tile_overview", 460


def show(controls: Controls, layer: LayerShape) -> None:
    """Draw every recipe and matmul; opening one sets the recipe, the matmul and the section."""
    st.markdown(
        "A is at the left, B above, D in the corner. The pink edges run along K, the dim that the matmul "
        "sums over. **Notice:** a tile that is longer in one direction is always longer along the pink edge. "
        "Click a picture to open it, or use the list below."
    )
    drawn = draw_chart(
        overview_spec(
            controls.value(INPUT), controls.value(SEED), layer.tokens, layer.in_, layer.out, theme()
        ),
        key=KEY,
        least=LEAST_WIDTH,
        on_select=lambda: _clicked(controls),
        selection_mode=[OPEN],
        alt=f"Small pictures of {len(MATMULS)} matmuls for {len(RECIPES)} recipes, tiles colored by scale.",
    )
    remember(KEY, OPEN, drawn)
    links = st.container(gap=None)
    for matmul in MATMULS.values():
        row = links.container(horizontal=True, gap="small")
        for recipe in RECIPES.values():
            row.button(
                f"{recipe.title} · {matmul.title}",
                key=f"open_{recipe.name}_{matmul.name}",
                type="tertiary",
                on_click=_open,
                args=(controls, recipe.name, matmul.name),
            )


def _open(controls: Controls, recipe: str, matmul: str) -> None:
    controls.preset(recipe=recipe, matmul=matmul, show="picture")


def _clicked(controls: Controls) -> None:
    place = clicked(KEY, OPEN)
    if place:
        _open(controls, place["recipe"], place["matmul"])
