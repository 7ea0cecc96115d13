"""Section "Every recipe": small multiples; a click opens one."""

from collections.abc import Sequence

from fp8core.linear import MATMULS, LayerShape
from fp8core.recipes import Recipe
from fp8core.tiles import WHOLE
from pages.kit.controls import Controls
from pages.kit.shared_controls import INPUT, SEED, by_family
from pages.kit.view import Clicks, draw_chart, draw_notice, here, page_ink, room
from pages.tile_layouts.charts.overview import OPEN, overview
from pages.tile_layouts.charts.scene import overview_scenes
from pages.tile_layouts.facts import EACH, FAMILY

KNOW = (
    "A is at the left, B above, D in the corner. The pink arrows run along K, the dim that the matmul sums "
    "over. Click a picture to open it. An operand that stays bf16 is an empty square."
)


def show(controls: Controls, layer: LayerShape) -> None:
    view = here()
    recipes = shown_recipes(controls.draw(FAMILY, view.control))
    draw_notice(notice(recipes))
    scenes = overview_scenes(recipes, controls.value(INPUT), controls.value(SEED), layer)
    draw_chart(
        overview(scenes, page_ink(), room()),
        key="tile_overview",
        clicks=Clicks(
            OPEN, lambda cell: controls.preset(recipe=cell["recipe"], matmul=cell["matmul"], show="picture")
        ),
        alt=f"Small pictures of {len(MATMULS)} matmuls for each of {', '.join(r.title for r in recipes)}: "
        "tiles colored by scale.",
    )
    view.know.markdown(KNOW)


def notice(recipes: Sequence[Recipe]) -> str:
    specs = [recipe.spec(matmul) for recipe in recipes for matmul in MATMULS.values()]
    long = [one.tile for spec in specs for one in spec.quantized if one.tile.mn != one.tile.k]
    sentence = f"Of {2 * len(specs)} operands, **{len(long)} have long tiles**."
    along = all(tile.mn is not WHOLE and (tile.k is WHOLE or tile.mn < tile.k) for tile in long)
    return f"{sentence} All of these lie along K, the pink arrow." if long and along else sentence


def shown_recipes(choice: str) -> list[Recipe]:
    families = {family.name.lower(): recipes for family, recipes in by_family().items()}
    return [recipes[0] for recipes in families.values()] if choice == EACH else families[choice]
