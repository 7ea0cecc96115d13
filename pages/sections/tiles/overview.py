"""Section "Every recipe": small multiples of recipes and matmuls; a click or a button opens one."""

import streamlit as st

from fp8core.linear import MATMULS, LayerShape
from fp8core.recipes import Recipe
from pages.kit.chart import draw_chart
from pages.kit.charts.ink import INKS
from pages.kit.controls import Controls
from pages.kit.notice import draw_notice
from pages.kit.recipes import by_family
from pages.kit.shared_controls import SEED
from pages.kit.shell import theme
from pages.sections.tiles.charts.overview import OPEN, overview
from pages.sections.tiles.clicks import clicked, remember
from pages.sections.tiles.controls import EACH, FAMILY, INPUT
from pages.sections.tiles.data import overview_scenes

KEY, LEAST_WIDTH = "tile_overview", 460


def show(controls: Controls, layer: LayerShape) -> None:
    """Draw the recipes of a family; opening one sets the recipe, the matmul and the section."""
    recipes = shown_recipes(controls.value(FAMILY))
    st.markdown(
        "A is at the left, B above, D in the corner. The pink edges run along K, the dim that the matmul "
        "sums over. An empty square is an operand that stays bf16. Click a "
        "picture to open it, or use the list below."
    )
    draw_notice("**Notice:** a tile that is longer in one direction is always longer along the pink edge.")
    drawn = draw_chart(
        overview(overview_scenes(recipes, controls.value(INPUT), controls.value(SEED), layer), INKS[theme()]),
        key=KEY,
        is_rigid=True,
        least=LEAST_WIDTH,
        on_select=lambda: _clicked(controls),
        selection_mode=[OPEN],
        alt=f"Small pictures of {len(MATMULS)} matmuls for each of {', '.join(r.title for r in recipes)}: "
        "tiles colored by scale.",
    )
    remember(KEY, OPEN, drawn)
    links = st.container(gap=None)
    for recipe in recipes:
        row = links.container(horizontal=True, gap="small")
        for matmul in MATMULS.values():
            row.button(
                f"{recipe.title} · {matmul.title}",
                key=f"open_{recipe.name}_{matmul.name}",
                type="tertiary",
                on_click=_open,
                args=(controls, recipe.name, matmul.name),
            )


def shown_recipes(choice: str) -> list[Recipe]:
    """The recipes of a value of FAMILY: those of a family, or the first of each."""
    families = by_family()
    if choice == EACH:
        return [recipes[0] for recipes in families.values()]
    return next(recipes for family, recipes in families.items() if family.name.lower() == choice)


def _open(controls: Controls, recipe: str, matmul: str) -> None:
    controls.preset(recipe=recipe, matmul=matmul, show="picture")


def _clicked(controls: Controls) -> None:
    place = clicked(KEY, OPEN)
    if place:
        _open(controls, place["recipe"], place["matmul"])
