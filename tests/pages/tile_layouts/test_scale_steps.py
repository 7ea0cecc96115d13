"""Contract: the steps on a tile's card end at the scale that the quantizer gives, in the rule's own order."""

import numpy as np
import pytest

from fp8core.linear import MATMULS, LayerShape, Side
from fp8core.recipes import RECIPES
from fp8core.scales import NO_SEARCH
from pages.kit.charts.words import short
from pages.tile_layouts.charts.scene import Scene
from pages.tile_layouts.data import scene
from pages.tile_layouts.scale_steps import scale_steps

LAYER = LayerShape(256, 256, 256)
CASES = [
    pytest.param(recipe, matmul, side, id=f"{recipe.name}-{matmul.name}-{side.value}")
    for recipe in RECIPES.values()
    for matmul in MATMULS.values()
    for side in Side
    if recipe.operand(matmul, side)
]


def steps_of(drawn: Scene, side: Side, row: int, column: int) -> dict[str, str]:
    tile, shown = drawn.tile(side, row, column), drawn.operand(side)
    part = shown.x[tile.stored.rows.start : tile.stored.rows.stop][
        :, tile.stored.columns.start : tile.stored.columns.stop
    ]
    return dict(scale_steps(shown.operand, tile, part))


def number(text: str) -> float:
    return float(text.split(" = ")[0].replace("−", "-").replace(",", ""))


@pytest.mark.parametrize(("recipe", "matmul", "side"), CASES)
def test_the_steps_end_at_the_scale(recipe, matmul, side):
    drawn = scene(recipe, matmul, "gradient_like", 3, LAYER)
    rows, columns = drawn.grid_shape(side)
    tile = drawn.tile(side, rows - 1, columns - 1)
    steps, rule = steps_of(drawn, side, rows - 1, columns - 1), recipe.spec(matmul).operand(side).scale_rule
    assert number([*steps.values()][-1]) == pytest.approx(tile.exact, rel=1e-3)
    if rule.has_fitted_outer:
        (before,) = (text for name, text in steps.items() if "(enc" in name)
        rounded = rule.format.decode(rule.format.encode(np.float32(number(before))))
        assert rounded == pytest.approx(tile.scale, rel=0.13)
    assert any("squared error" in name for name in steps) == (rule.search != NO_SEARCH)
    assert any("constant" in name for name in steps) == (
        rule.outer is not None and rule.outer.constant is not None
    )


def test_of_a_search_the_smaller_error_is_the_one_of_the_scale_that_is_kept():
    recipe = RECIPES["four_over_six"]
    drawn, kept = scene(recipe, MATMULS["fprop"], "gaussian", 0, LAYER), set()
    for row in range(drawn.grid_shape(Side.A)[0]):
        steps = steps_of(drawn, Side.A, row, 0)
        errors = {
            name.rsplit(" ", 1)[1]: number(text)
            for name, text in steps.items()
            if name.startswith("squared error")
        }
        best = min(errors, key=errors.get)
        kept.add(best)
        (fitted,) = (name for name in steps if "(enc" in name)
        assert fitted.startswith(f"amax · {best} ·"), (steps, short(errors[best]))
    assert len(kept) == len(recipe.fprop.a.scale_rule.search), "both are taken somewhere"
