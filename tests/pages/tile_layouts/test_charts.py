"""Contract: one rectangle a tile, where the grid puts it, colored by the scale that the quantizer gives."""

import base64
import math
from itertools import product

import numpy as np
import pytest

from fp8core.contraction import contract
from fp8core.inputs import InputKind
from fp8core.linear import MATMULS, OPERANDS, LayerShape, Side
from fp8core.recipes import RECIPES
from fp8core.tiles import WHOLE, TileShape
from pages.kit.charts.ink import LIGHT
from pages.kit.charts.tile_marks import TILES, WORDS
from pages.kit.charts.words import short
from pages.tile_layouts.charts.copies import copies_chart, readings
from pages.tile_layouts.charts.overview import CELLS, overview
from pages.tile_layouts.charts.overview import WIDTH as WIDE
from pages.tile_layouts.charts.rule import LEAVES, SUMS, VARIES, RuleScene, rule_chart, summed_rows
from pages.tile_layouts.charts.scene import TO_SCALE, Scene, copy_scenes, matmul_scene, overview_scenes
from pages.tile_layouts.facts import EACH, FAMILY
from pages.tile_layouts.matmul import (
    cases,
    contraction,
    data,
    exact_sum,
    off_words,
    operand_lines,
    turned_tiles,
)
from pages.tile_layouts.overview import notice as overview_notice
from pages.tile_layouts.overview import shown_recipes
from tests.pages.specs import dataset, rows
from tests.pages.tile_layouts.reference import multiplied, quantized
from tests.sweeps import some_cases

LAYER = LayerShape(4096, 4096, 14336)
CASES = some_cases(
    2, {f"{recipe}-{matmul}": (recipe, matmul) for recipe, matmul in product(RECIPES, MATMULS)}
)
ROOMS = {"laptop": 580, "lesson": 495, "projector": 360}
FIELDS = 6


def scene_for(recipe: str, matmul: str, layer: LayerShape = LAYER, seed: int = 0) -> Scene:
    return matmul_scene(RECIPES[recipe], MATMULS[matmul], InputKind.OUTLIER_CHANNELS.value, seed, layer)


def stage_of(recipe: str, matmul: str, row: int = 0, column: int = 0) -> dict:
    """Data of the picture for the browser."""
    at = {"row": row, "column": column, "stretch": 1, "turn": 0, "side": "A"}
    return data(scenes_of(recipe, matmul), at, LIGHT, 580, "")


def scenes_of(recipe: str, matmul: str) -> tuple[Scene, ...]:
    return cases(RECIPES[recipe], MATMULS[matmul], InputKind.OUTLIER_CHANNELS.value, 0, LAYER)


def tiles_in(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), "<f4").reshape(-1, FIELDS)


def along_k(scene: Scene, side: Side) -> set[tuple[int, int]]:
    """The stretches of k that tiles of an operand cover."""
    return set(map(tuple, scene.tiles(side).k.T.tolist()))


def words(spec: dict) -> str:
    return " ".join(dataset(spec, WORDS)["text"])


@pytest.mark.parametrize(("recipe", "matmul"), CASES)
def test_tiles_cover_their_operand_once_with_the_scales_that_quantize_gives_also_turned(recipe, matmul):
    stage = stage_of(recipe, matmul)
    for turn, scene in enumerate(scenes_of(recipe, matmul)):
        for side, text in ((Side.A, stage["cases"][turn]["a"]), (Side.B, stage["b"])):
            mine, corner = tiles_in(text), scene.operand(side)
            size = scene.mnk[0 if side is Side.A else 1], scene.mnk[2]
            count, scales = np.zeros(size), np.full(size, np.nan)
            for start, stop, k0, k1, shade, scale in mine:
                at = np.s_[int(start) : int(stop), int(k0) : int(k1)]
                count[at] += 1
                scales[at] = scale
                assert math.isnan(shade) == math.isnan(scale)
                assert math.isnan(shade) or 0 <= shade <= 1
            assert (count == 1).all()
            if corner.operand is None:
                assert len(mine) == 1
                assert np.isnan(scales).all()
                continue
            codes = quantized(corner.corner, corner.operand)
            truth = codes.grid.expand(codes.scale).astype(np.float32)
            assert np.array_equal(scales, truth.T if MATMULS[matmul].k_is_rows(side) else truth)
    scene = scenes_of(recipe, matmul)[0]
    for side in Side:
        operand = scene.spec.operand(side)
        assert len(along_k(scene, side)) == (1 if scene.spec.extent(side) is WHOLE else 4)
        if operand and operand.tile.mn == 1:
            assert 8 <= np.unique(scene.tiles(side).free, axis=1).shape[1] <= 24


@pytest.mark.parametrize(("recipe", "matmul"), CASES)
def test_the_sum_of_a_turned_tile_is_that_of_the_scales_at_the_first_k_of_each_stretch(recipe, matmul):
    m, n = 5, 3
    stage, scenes = stage_of(recipe, matmul, m, n)["sum"], scenes_of(recipe, matmul)
    for turn, scene in enumerate(scenes):
        values, scales = [], []
        for side, line in ((Side.A, m), (Side.B, n)):
            corner = scene.operand(side)
            truth = (
                corner.x.astype(np.float64)
                if corner.operand is None
                else quantized(corner.corner, corner.operand).exact_values()
            )
            values.append(scene.along_k(side, truth, line))
            scales.append(scene.scale_along_k(side, line))
        for (start, stop), right, pulled in zip(
            stage["k"], stage["right"][turn], stage["pulled"][turn], strict=True
        ):
            part = np.s_[start:stop]
            products = values[0][part] * values[1][part]
            assert right == pytest.approx(products.sum(), rel=1e-9, abs=1e-12)
            both = scales[0][part] * scales[1][part]
            assert pulled == pytest.approx((products / both).sum() * both[0], rel=1e-6, abs=1e-12)
    assert stage["pulled"][0] == pytest.approx(stage["right"][0])
    assert stage["exact"] == exact_sum(scenes[0], m, n)
    wrong = [not one["isRight"] for one in stage_of(recipe, matmul, m, n)["cases"]]
    assert wrong == [False, *[True] * (len(scenes) - 1)]


def test_a_long_tile_is_turned_in_steps_until_it_lies_across():
    shapes = [(one.mn, one.k) for one in turned_tiles(TileShape(1, 128), 12)]
    assert shapes == [(1, 128), (2, 64), (4, 32), (8, 16), (12, 1)]
    assert turned_tiles(TileShape(1, WHOLE), 12) == (TileShape(1, WHOLE), TileShape(WHOLE, 1))
    for own in (TileShape(128, 128), TileShape(WHOLE, WHOLE), TileShape(WHOLE, 4)):
        assert turned_tiles(own, 384) == (own,)


def test_a_wrong_sum_is_told_in_words_and_the_verdict_turns():
    for value, right, words in (
        (-1, 2, "has the wrong sign"),
        (1, 2, "is 50% too small"),
        (0, 2, "is 0"),
        (6, 2, "is 3 times too large"),
        (2.5, 2, "is 25% too large"),
    ):
        assert off_words(value, right) == words
    stage, (own, *_, last) = stage_of("deepseek_v3", "wgrad", 3, 5), scenes_of("deepseek_v3", "wgrad")
    first, across = stage["cases"][0], stage["cases"][-1]
    assert "Both scales stay constant" in first["html"]
    assert "at every product" in across["html"]
    numbers = contraction(last, own.spec, 3, 5)
    assert off_words(numbers.pulled_out, numbers.right) in across["words"]


@pytest.mark.parametrize(("recipe", "matmul"), CASES)
def test_tiles_at_once_are_those_one_by_one_with_the_reference_s_values(recipe, matmul):
    scene = scene_for(recipe, matmul, LayerShape(130, 200, 50))
    for side in Side:
        every, places = scene.tiles(side), np.ndindex(scene.operand(side).grid.scale_shape)
        at_once = zip(every.free.T.tolist(), every.k.T.tolist(), every.scale.tolist(), strict=True)
        tiles = [scene.tile(side, *place) for place in places]
        one_by_one = {(one.free.start, one.free.stop, one.k.start, one.k.stop): one.scale for one in tiles}
        assert {(*free, *k): scale for free, k, scale in at_once} == pytest.approx(
            one_by_one, rel=0, nan_ok=True
        )
        values = scene.factors_along_k(side, 3) * scene.scale_along_k(side, 3)
        assert values.tolist() == scene.along_k(side, multiplied(scene.operand(side)), 3).tolist()


def test_a_layer_smaller_than_the_corner_is_drawn_whole():
    small = scene_for("deepseek_v3", "wgrad", LayerShape(130, 3, 5))
    assert small.corner == LayerShape(130, 3, 5)
    assert along_k(small, Side.A) == {(0, 128), (128, 130)}


@pytest.mark.parametrize(("recipe", "matmul"), CASES)
def test_unusual_steps_and_outer_scales_are_written_below_an_operand(recipe, matmul):
    scene = scene_for(recipe, matmul)
    for side in Side:
        text, one = " ".join(long for long, _ in operand_lines(scene, side)), scene.operand(side)
        spec = scene.spec.operand(side)
        assert ("bf16, no scale" in text) == (spec is None)
        if one.outer_grid:
            constant = one.operand.spec.scale_rule.outer.constant
            assert (f"times {constant:.6g}" if constant else short(float(one.scales.outer[0, 0]), 3)) in text
        assert spec is None or spec.rotation is None or f"rotated, {spec.rotation.size} along K" in text
        assert ("stochastic" in text) == bool(spec and spec.is_random)


@pytest.mark.parametrize("choice", FAMILY.options)
def test_the_overview_has_every_tile_of_a_family_s_recipes_to_scale(choice):
    recipes = shown_recipes(choice)
    scenes = overview_scenes(recipes, InputKind.GAUSSIAN.value, 0, LAYER)
    assert len(scenes) == len(recipes) * len(MATMULS)
    spec = overview(scenes, LIGHT)
    marks, cells = rows(spec, TILES), rows(spec, CELLS)
    tiles = sum(math.prod(scene.grid_shape(side)) for scene in scenes for side in Side)
    assert len(marks) == tiles + len(scenes)
    for prefix in ("", "n_"):
        assert len({(cell[f"{prefix}x0"], cell[f"{prefix}y0"]) for cell in cells}) == len(scenes)
        for row in (*marks, *cells):
            assert row[f"{prefix}x1"] <= WIDE
            assert row[f"{prefix}y1"] <= spec["height"]
    for scene in scenes:
        for side in Side:
            extent = scene.spec.extent(side)
            assert len(along_k(scene, side)) == (1 if extent is WHOLE else TO_SCALE // extent)


def test_every_recipe_is_in_one_family_and_long_tiles_are_counted():
    families = [r.name for choice in FAMILY.options if choice != EACH for r in shown_recipes(choice)]
    assert sorted(families) == sorted(RECIPES)
    assert len({r.family for r in shown_recipes(EACH)}) == len(FAMILY.options) - 1
    assert overview_notice(shown_recipes(EACH)).startswith("Of 30 operands, **20 have long tiles**.")
    assert "along K" in overview_notice(shown_recipes(EACH))
    assert "along K" not in overview_notice([RECIPES["per_tensor"]])


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_each_reading_has_its_copy_or_the_tensor_itself(recipe):
    scenes = {t: copy_scenes(recipe, t, InputKind.GAUSSIAN.value, 0, LAYER) for t in OPERANDS}
    cells = readings(scenes)
    assert len(cells) == 6
    for cell in cells:
        operand = recipe.operand(cell.matmul, cell.side)
        assert (cell.scene is None) == (operand is None)
        assert operand is None or (cell.matmul, cell.side) in cell.scene.copy.readers
    again = sum(len(copy.k_major) - 1 for t in OPERANDS for copy in recipe.quantized_copies(t))
    assert sum(cell.is_repeated for cell in cells) == again
    for room in ROOMS.values():
        spec = copies_chart(recipe, LAYER, scenes, LIGHT, room)
        marks = rows(spec, TILES) if any(cell.scene for cell in cells) else []
        assert len(marks) == sum(math.prod(cell.scene.grid.scale_shape) for cell in cells if cell.scene)
        assert all(max(row["x1"], row["n_x1"]) <= spec["width"] for row in marks)
        assert all(0 <= row["y0"] < row["y1"] <= spec["height"] for row in marks)
    assert ("same codes," in words(spec)) == (again > 0)
    assert words(spec).count("bf16 itself") == sum(cell.scene is None for cell in cells)
    bare = copies_chart(recipe, LAYER, scenes, LIGHT, has_figures=False)
    assert ("in all" in words(spec), "in all" in words(bare)) == (True, False)


@pytest.mark.parametrize("a", [1, 32, 128, WHOLE])
@pytest.mark.parametrize("summed", [32, 128, WHOLE])
def test_the_rule_marks_exactly_the_stretches_that_a_change_of_scale_falls_into(a, summed):
    k = 512
    steps, length = np.arange(k) // (k if a is WHOLE else a) + 1.0, k if summed is WHOLE else summed
    scene = RuleScene(
        a=TileShape(1, a), b=TileShape(1, WHOLE), sums=summed, a_scale=steps, b_scale=np.ones(k)
    )
    stretches = [steps[start : start + length] for start in range(0, k, length)]
    verdicts = [LEAVES if len(set(one)) == 1 else VARIES for one in stretches]
    assert [row["verdict"] for row in summed_rows(scene)] == verdicts
    sums = contract(np.ones(k), np.ones(k), steps, np.ones(k), summed)
    for room in ROOMS.values():
        spec = rule_chart(scene, sums, LIGHT, room)
        assert len(rows(spec, TILES)) == len(set(steps)) + 1
        assert all(row["y"] < spec["height"] for row in rows(spec, WORDS))
        bars = rows(spec, SUMS)
        zero = bars[0]["y0"]
        assert all(0 <= row["pulled"] <= spec["height"] for row in bars)
        heights = [(zero - row["y1"], zero - row["pulled"]) for row in bars]
        unit = heights[0][0] / sums.right_parts[0]
        both = zip(sums.right_parts, sums.pulled_out_parts, strict=True)
        assert np.allclose(heights, [(unit * right, unit * pulled) for right, pulled in both])
