"""Contract: a section tells what the quantizer, the recipe and the hardware do."""

import numpy as np
import pytest

from fp8core.contraction import rescales_per_output
from fp8core.costs import copy_cost
from fp8core.linear import MATMULS, OPERANDS, LayerShape, Side
from fp8core.recipes import RECIPES
from fp8core.scales import NO_SEARCH
from fp8core.tiles import WHOLE, TileShape
from kernels.gemm.block_scaled import NativeKind, kind_of
from pages.kit.charts.ink import LIGHT
from pages.kit.charts.words import bytes_text
from pages.tile_layouts import copies
from pages.tile_layouts.charts.rule import RuleScene
from pages.tile_layouts.charts.scene import Scene, matmul_scene
from pages.tile_layouts.matmul import exact_sum, output_parts
from pages.tile_layouts.picture import hardware, notice, scale_steps
from pages.tile_layouts.rule import latex
from tests.pages.tile_layouts.reference import multiplied
from tests.sweeps import some_cases

LAYER, SMALL = LayerShape(4096, 4096, 14336), LayerShape(256, 256, 256)
GEMMS = {f"{recipe}-{matmul}": (recipe, matmul) for recipe in RECIPES for matmul in MATMULS}
OPERANDS_OF = [
    pytest.param(recipe, matmul, side, id=f"{recipe.name}-{matmul.name}-{side.value}")
    for recipe in RECIPES.values()
    for matmul in MATMULS.values()
    for side in Side
    if recipe.operand(matmul, side)
]


def scene_for(
    recipe: str, matmul: str, kind: str = "gaussian", seed: int = 0, layer: LayerShape = LAYER
) -> Scene:
    return matmul_scene(RECIPES[recipe], MATMULS[matmul], kind, seed, layer)


@pytest.mark.parametrize(("recipe", "matmul"), some_cases(3, GEMMS))
def test_the_stretches_in_the_card_add_up_to_the_product_of_the_quantized_operands(recipe, matmul):
    scene = scene_for(recipe, matmul, seed=1)
    a, b = (scene.along_k(side, multiplied(scene.operand(side), 1), 3) for side in Side)
    parts = output_parts(scene, 3, 3)
    assert len(parts) == rescales_per_output(scene.mnk[2], *map(scene.spec.extent, Side))
    assert sum(part.value for part in parts) == pytest.approx(float(a @ b), rel=1e-12, abs=1e-12)
    exact = (scene.along_k(side, scene.operand(side).corner.astype(np.float64), 3) for side in Side)
    assert exact_sum(scene, 3, 3) == pytest.approx(float(np.dot(*exact)), rel=1e-12, abs=1e-12)


def steps_of(scene: Scene, side: Side, row: int, column: int) -> dict[str, str]:
    tile, corner = scene.tile(side, row, column), scene.operand(side)
    rows, columns = tile.stored.rows, tile.stored.columns
    x = corner.x[rows.start : rows.stop, columns.start : columns.stop]
    return dict(scale_steps(corner.operand, tile, x))


def number(text: str) -> float:
    return float(text.split(" = ")[0].replace("−", "-").replace(",", ""))


@pytest.mark.parametrize(("recipe", "matmul", "side"), OPERANDS_OF)
def test_the_steps_on_a_card_end_at_the_scale(recipe, matmul, side):
    scene = matmul_scene(recipe, matmul, "gradient_like", 3, SMALL)
    rows, columns = scene.operand(side).grid.scale_shape
    tile, steps = scene.tile(side, rows - 1, columns - 1), steps_of(scene, side, rows - 1, columns - 1)
    rule = recipe.spec(matmul).operand(side).scale_rule
    assert number([*steps.values()][-1]) == pytest.approx(tile.exact, rel=1e-3)
    assert number(steps["amax, the largest |x|"]) == pytest.approx(tile.amax, rel=1e-3)
    if rule.has_fitted_outer:
        (before,) = (text for name, text in steps.items() if "(enc" in name)
        rounded = rule.format.decode(rule.format.encode(np.float32(number(before))))
        assert rounded == pytest.approx(tile.scale, rel=0.13)
    assert any("squared error" in name for name in steps) == (rule.search != NO_SEARCH)
    has_constant = rule.outer is not None and rule.outer.constant is not None
    assert any("constant" in name for name in steps) == has_constant


def test_of_a_search_the_smaller_error_is_the_one_of_the_scale_that_is_kept():
    recipe = RECIPES["four_over_six"]
    scene, best = scene_for("four_over_six", "fprop", layer=SMALL), set()
    for row in range(scene.a.grid.scale_shape[0]):
        steps = steps_of(scene, Side.A, row, 0)
        errors = {name.rsplit(" ", 1)[1]: number(steps[name]) for name in steps if "squared" in name}
        best.add(least := min(errors, key=errors.get))
        (fitted,) = (name for name in steps if "(enc" in name)
        assert fitted.startswith(f"amax · {least} ·"), steps
    assert len(best) == len(recipe.fprop.a.scale_rule.search), "both are taken somewhere"


def test_what_to_notice_differs_with_the_geometry():
    notices = {case: notice(scene_for(*case)) for case in GEMMS.values()}
    assert all(len(one.split()) <= 25 and one.count("**") == 2 for one in notices.values())
    for case, words in {
        ("deepseek_v3", "fprop"): "so its tiles run along *in*. Each element of D is rescaled **32 times**",
        ("mxfp8", "dgrad"): "**448 times**",
        ("per_tensor", "wgrad"): "no scale changes on the way",
        ("rowwise", "wgrad"): "**once**",
        ("rowwise_hp_wgrad", "wgrad"): "**no scale**",
    }.items():
        assert words in notices[case]


def test_the_scales_that_a_tensor_core_applies_by_itself_are_those_of_its_kinds():
    for recipe, matmul in GEMMS.values():
        spec = RECIPES[recipe].spec(MATMULS[matmul])
        words, kind = hardware(spec), kind_of(spec)
        assert ("knows no scales" in words) == bool(spec.extents_along_k)
        if spec.extents_along_k:
            assert ("applies these scales itself" in words) == isinstance(kind, NativeKind)
            assert (kind.value if isinstance(kind, NativeKind) else kind.reason) in words


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_the_sizes_of_copies_are_those_of_the_true_shape(recipe):
    table, words, second = copies.copies_table(recipe, LAYER, LIGHT), copies.notice(recipe, LAYER), 0
    for tensor in OPERANDS:
        for number, copy in enumerate(recipe.quantized_copies(tensor)):
            cost = copy_cost(copy, LAYER)
            assert f"{cost.scales:,}" in table
            assert bytes_text(cost.code_bytes) in table
            second += (cost.code_bytes + cost.scale_bytes) * (number > 0)
    assert len(words.split()) <= 25
    assert (bytes_text(second) in words) == (second > 0)


def test_latex_writes_a_scale_inside_the_sum_where_it_is_stuck():
    for extent, words in ((32, "stuck inside"), (128, "rescale")):
        scale, tiles = np.arange(256) // extent + 1.0, (TileShape(1, extent), TileShape(128, WHOLE))
        scene = RuleScene(a=tiles[0], b=tiles[1], sums=128, a_scale=scale, b_scale=np.ones(256))
        assert words in latex(scene, LIGHT)
