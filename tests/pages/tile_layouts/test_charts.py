"""Contract: one rectangle a tile, where the grid puts it, coloured by the scale that the quantizer gives."""

import math
from itertools import product

import numpy as np
import pytest

from fp8core.contraction import contract
from fp8core.formats import FORMATS
from fp8core.inputs import InputKind
from fp8core.linear import MATMULS, OPERANDS, LayerShape, Side
from fp8core.philox import random_bits
from fp8core.quantize import QuantizedTensor, quantize
from fp8core.recipes import RECIPES, Operand
from fp8core.tiles import WHOLE, TileShape
from pages.kit.charts.ink import DARK, LIGHT
from pages.kit.charts.tile_marks import TILES, WORDS
from pages.kit.charts.words import short
from pages.tile_layouts.charts.copies import copies_chart
from pages.tile_layouts.charts.equation import Choice
from pages.tile_layouts.charts.overview import CELLS, overview
from pages.tile_layouts.charts.overview import WIDTH as WIDE
from pages.tile_layouts.charts.picture import OUTER, WIDTH, picture_frame, pinned_rows, tile_picture
from pages.tile_layouts.charts.readings import readings
from pages.tile_layouts.charts.rule import LEAVES, SUMS, VARIES, RuleScene, rule_chart, summed_rows
from pages.tile_layouts.charts.scene import TO_SCALE, Scene
from pages.tile_layouts.controls import EACH, FAMILY
from pages.tile_layouts.data import copy_scenes, numbers, overview_scenes
from pages.tile_layouts.data import scene as scene_of
from pages.tile_layouts.overview import notice as overview_notice
from pages.tile_layouts.overview import shown_recipes
from tests.pages.specs import dataset, rows
from tests.sweeps import one_in

LAYER = LayerShape(4096, 4096, 14336)
CASES = one_in(2, {f"{recipe}-{matmul}": (recipe, matmul) for recipe, matmul in product(RECIPES, MATMULS)})
NARROWEST_PICTURE = 500
SMALLEST_TILE = 6


def scene(recipe: str, matmul: str, layer: LayerShape = LAYER, seed: int = 0) -> Scene:
    return scene_of(RECIPES[recipe], MATMULS[matmul], InputKind.OUTLIER_CHANNELS.value, seed, layer)


def quantized(x: np.ndarray, operand: Operand, seed: int = 0) -> QuantizedTensor:
    """A corner as the reference quantizes it, with the random bits of a seed."""
    if not operand.spec.is_random:
        return quantize(x, operand)
    bits = random_bits(operand.stored(x.shape), seed)
    return quantize(x, operand, random=bits.T if operand.k_is_rows else bits)


def picture(drawn: Scene, ink=LIGHT, room: float = 580) -> dict:
    place = picture_frame(drawn, room)
    pinned = pinned_rows(drawn, place, Side.A, 0, 0, (0, 0))
    return tile_picture(drawn, place, pinned, ink, room)


def tiles_of(spec: dict) -> list[dict]:
    return rows(spec, TILES)


def said(spec: dict) -> str:
    return " ".join(dataset(spec, WORDS)["text"])


@pytest.mark.parametrize(("recipe", "matmul"), CASES)
def test_each_operand_has_one_rectangle_a_tile(recipe, matmul):
    drawn = scene(recipe, matmul)
    marks = tiles_of(picture(drawn))
    for side in Side:
        grid = RECIPES[recipe].grid(MATMULS[matmul], side, drawn.drawn.of(MATMULS[matmul].operand(side)))
        wanted = math.prod(grid.scale_shape) if grid else 1
        assert sum(row["side"] == side.value for row in marks) == wanted
    parts = math.prod(len({tile.free for tile in drawn.tiles(side)}) for side in Side)
    assert sum(row["side"] == "D" for row in marks) == parts


@pytest.mark.parametrize(("recipe", "matmul"), CASES)
def test_every_rectangle_has_the_colour_of_the_scale_that_quantize_gives(recipe, matmul):
    drawn = scene(recipe, matmul)
    marks = {(r["side"], r["row"], r["column"]): r for r in tiles_of(picture(drawn))}
    for side in Side:
        tensor = MATMULS[matmul].operand(side)
        x = numbers(InputKind.OUTLIER_CHANNELS.value, tensor, drawn.drawn.of(tensor), 0, LAYER.in_)
        operand = RECIPES[recipe].operand(MATMULS[matmul], side)
        if operand is None:
            assert math.isnan(marks[side.value, 0, 0]["log2"])
            assert "no scale" in marks[side.value, 0, 0]["detail"]
            continue
        grid, scale = operand.grid(x.shape), quantized(x, operand).scale
        turned = MATMULS[matmul].is_transposed(side)
        for tile in grid.tiles():
            place = (tile.column, tile.row) if turned else (tile.row, tile.column)
            assert marks[side.value, *place]["log2"] == pytest.approx(
                np.log2(scale[tile.row, tile.column]), abs=6e-4
            )


@pytest.mark.parametrize("room", [580, 495, 360], ids=["laptop", "lesson", "projector"])
@pytest.mark.parametrize(("recipe", "matmul"), CASES)
def test_tiles_fill_their_panel_and_line_up_with_d(recipe, matmul, room):
    area, box = {}, {}
    spec = picture(scene(recipe, matmul), room=room)
    assert all(row["y"] < spec["height"] for row in rows(spec, WORDS))
    for row in tiles_of(spec):
        area[row["side"]] = area.get(row["side"], 0) + (row["x1"] - row["x0"]) * (row["y1"] - row["y0"])
        corners = box.setdefault(row["side"], [math.inf, -math.inf, math.inf, -math.inf])
        corners[:] = [
            min(corners[0], row["x0"]), max(corners[1], row["x1"]),
            min(corners[2], row["y0"]), max(corners[3], row["y1"]),
        ]  # fmt: skip
    for side, (left, right, top, bottom) in box.items():
        assert area[side] == pytest.approx((right - left) * (bottom - top)), side
    assert box["A"][2:] == pytest.approx(box["D"][2:]), "A and D share m"
    assert box["B"][:2] == pytest.approx(box["D"][:2]), "B and D share n"
    assert box["A"][1] < box["D"][0], "A is left of D"
    assert box["B"][3] < box["D"][2], "B is above D"


@pytest.mark.parametrize(("recipe", "matmul"), CASES)
def test_a_tile_is_large_enough_to_see_and_about_four_lie_along_k(recipe, matmul):
    drawn = scene(recipe, matmul)
    for row in tiles_of(picture(drawn)):
        assert (row["x1"] - row["x0"]) * NARROWEST_PICTURE / WIDTH >= SMALLEST_TILE
        assert row["y1"] - row["y0"] >= SMALLEST_TILE
    spec = RECIPES[recipe].spec(MATMULS[matmul])
    for side in Side:
        along, operand = {t.k for t in drawn.tiles(side)}, spec.operand(side)
        assert len(along) == (1 if spec.extent(side) is WHOLE else 4)
        if operand and operand.tile.mn == 1:
            assert 8 <= len({t.free for t in drawn.tiles(side)}) <= 24


@pytest.mark.parametrize(("recipe", "matmul"), CASES)
def test_tiles_seen_at_once_are_those_seen_one_by_one(recipe, matmul):
    drawn = scene(recipe, matmul, LayerShape(130, 200, 50))
    for side in Side:
        seen, one = drawn.seen(side), list(drawn.tiles(side))
        assert list(zip(seen.row, seen.column, strict=True)) == [(t.row, t.column) for t in one]
        assert [tuple(ends) for ends in seen.k.T] == [(t.k.start, t.k.stop) for t in one]
        assert [tuple(ends) for ends in seen.free.T] == [(t.free.start, t.free.stop) for t in one]
        assert [tuple(ends) for ends in seen.rows.T] == [
            (t.stored.rows.start, t.stored.rows.stop) for t in one
        ]
        assert seen.scale.tolist() == pytest.approx([t.scale for t in one], rel=0, nan_ok=True)
        shown = drawn.operand(side)
        if shown.operand is None:
            bf16 = shown.given.astype(FORMATS["bf16"].ml_dtype).astype(np.float64)
            assert drawn.factors_along_k(side, 3).tolist() == drawn.along_k(side, bf16, 3).tolist()
            assert set(drawn.scale_along_k(side, 3)) == {1.0}
            continue
        truth = quantized(shown.given, shown.operand)
        values = drawn.factors_along_k(side, 3) * drawn.scale_along_k(side, 3)
        assert values.tolist() == drawn.along_k(side, truth.exact_values(), 3).tolist()


def test_a_layer_smaller_than_the_corner_is_drawn_whole():
    small = scene("deepseek_v3", "wgrad", LayerShape(130, 3, 5))
    assert small.drawn == LayerShape(130, 3, 5)
    assert {len(tile.k) for tile in small.tiles(Side.A)} == {128, 2}
    assert "all 130 drawn" in said(picture(small))


@pytest.mark.parametrize("ink", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(("recipe", "matmul"), CASES)
def test_a_picture_stays_within_its_marks_and_links_by_hover_and_click(recipe, matmul, ink):
    spec = picture(scene(recipe, matmul), ink)
    params = {param["name"]: param for param in spec["params"]}
    assert set(params) == {"pin", "hover"}
    assert all(param["views"] == ["tiles"] for param in params.values())
    assert sum(len(rows(spec, name)) for name in spec["datasets"]) <= 4000


def test_the_highlight_follows_m_n_and_k_of_the_pinned_tile():
    drawn = scene("deepseek_v3", "fprop")
    place = picture_frame(drawn)
    pinned = {row["panel"]: row for row in pinned_rows(drawn, place, Side.A, 5, 2, (5, 7))}
    assert set(pinned) == {"A", "B", "D", "output"}
    for row in pinned.values():
        assert (row["m0"], row["m1"], row["k0"], row["k1"]) == (5, 6, 256, 384)
        assert (row["n0"], row["n1"]) == (-1, -1)
    of_b = pinned_rows(drawn, place, Side.B, 1, 2, (0, 300))[0]
    assert (of_b["n0"], of_b["n1"], of_b["k0"], of_b["k1"], of_b["m0"]) == (256, 384, 128, 256, -1)


def test_a_chart_does_not_leak_rows_into_the_next_of_its_kind():
    first, second = (picture(scene("deepseek_v3", "fprop", seed=seed)) for seed in (0, 1))
    assert first["datasets"] != second["datasets"]
    assert first["datasets"] == picture(scene("deepseek_v3", "fprop"))["datasets"]


@pytest.mark.parametrize(("recipe", "matmul"), CASES)
def test_colors_run_from_an_operand_s_smallest_scale_to_its_largest(recipe, matmul):
    for side in Side:
        marks = [row for row in tiles_of(picture(scene(recipe, matmul))) if row["side"] == side.value]
        by_scale = sorted((row["log2"], row["shade"]) for row in marks if not math.isnan(row["log2"]))
        shades = [shade for _, shade in by_scale]
        assert shades == sorted(shades)
        assert all(0 <= shade <= 1 for shade in shades)


@pytest.mark.parametrize("choice", FAMILY.options)
def test_the_overview_has_every_tile_of_a_family_s_recipes_and_matmuls(choice):
    recipes = shown_recipes(choice)
    scenes = overview_scenes(recipes, InputKind.GAUSSIAN.value, 0, LAYER)
    assert len(scenes) == len(recipes) * len(MATMULS)
    spec = overview(scenes, LIGHT)
    marks, cells = tiles_of(spec), rows(spec, CELLS)
    assert len(marks) == sum(math.prod(drawn.grid_shape(side)) for drawn in scenes for side in Side) + len(
        scenes
    )
    for prefix in ("", "n_"):
        assert len({(cell[f"{prefix}x0"], cell[f"{prefix}y0"]) for cell in cells}) == len(scenes)
        for row in (*marks, *cells):
            assert row[f"{prefix}x1"] <= WIDE
            assert row[f"{prefix}y1"] <= spec["height"]


@pytest.mark.parametrize("recipe", RECIPES)
def test_small_pictures_show_tiles_to_scale_along_k(recipe):
    for drawn in overview_scenes([RECIPES[recipe]], InputKind.GAUSSIAN.value, 0, LAYER):
        for side in Side:
            operand = drawn.spec.operand(side)
            along = {tile.k for tile in drawn.tiles(side)}
            assert len(along) == (
                1 if operand is None or operand.tile.k is WHOLE else TO_SCALE // operand.tile.k
            )


def test_the_notice_of_every_recipe_counts_long_tiles():
    told = overview_notice(shown_recipes(EACH))
    assert told.startswith("Of 30 operands, **20 have long tiles**.")
    assert "along K" in told
    assert "along K" not in overview_notice([RECIPES["per_tensor"]])


def test_every_recipe_is_in_the_overview_once():
    shown = [r.name for choice in FAMILY.options if choice != EACH for r in shown_recipes(choice)]
    assert sorted(shown) == sorted(RECIPES)
    assert len({r.family for r in shown_recipes(EACH)}) == len(FAMILY.options) - 1


@pytest.mark.parametrize(("recipe", "matmul"), CASES)
def test_an_outer_tile_is_outlined_and_its_scale_said(recipe, matmul):
    drawn = scene(recipe, matmul)
    spec = picture(drawn)
    fitted = [one for side in Side if (one := drawn.operand(side)).outer_grid]
    assert len(rows(spec, OUTER)) == sum(math.prod(one.outer_grid.scale_shape) for one in fitted)
    for one in fitted:
        constant = one.operand.spec.scale_rule.outer.constant
        wanted = f"times {constant:.6g}" if constant else short(float(one.scales.outer[0, 0]), 3)
        assert wanted in said(spec)
    for side in Side:
        rotation = drawn.spec.operand(side) and drawn.spec.operand(side).rotation
        assert rotation is None or f"rotated, {rotation.size} along K" in said(spec)
    assert ("stochastic" in said(spec)) == any(o.is_random for o in drawn.spec.quantized)
    assert said(spec).count("bf16, no scale") == 2 - len(drawn.spec.quantized)


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
    assert sum(cell.repeated for cell in cells) == again
    spec = copies_chart(recipe, LAYER, scenes, LIGHT)
    marks = tiles_of(spec) if any(cell.scene for cell in cells) else []
    tiles = [math.prod(cell.scene.grid.scale_shape) for cell in cells if cell.scene]
    assert len(marks) == sum(tiles)
    assert ("same codes," in said(spec)) == (again > 0)
    assert said(spec).count("bf16 itself") == sum(cell.scene is None for cell in cells)
    for name in ("x1", "n_x1"):
        assert all(row[name] <= spec["width"] for row in marks)
    hidden = copies_chart(recipe, LAYER, scenes, LIGHT, has_figures=False)
    assert ("in all" in said(spec), "in all" in said(hidden)) == (True, False)


@pytest.mark.parametrize("a", [1, 32, 128, WHOLE])
@pytest.mark.parametrize("summed", [32, 128, WHOLE])
def test_the_rule_marks_exactly_the_stretches_that_a_change_of_scale_falls_into(a, summed):
    k = 512
    steps = np.arange(k) // (k if a is WHOLE else a) + 1.0
    drawn = RuleScene(
        choice=Choice(TileShape(1, a), TileShape(1, WHOLE), summed), a_scale=steps, b_scale=np.ones(k)
    )
    verdicts = [row["verdict"] for row in summed_rows(drawn)]
    length = k if summed is WHOLE else summed
    wanted = [
        LEAVES if len(set(steps[start : start + length])) == 1 else VARIES for start in range(0, k, length)
    ]
    assert verdicts == wanted
    numbers_ = contract(np.ones(k), np.ones(k), steps, np.ones(k), summed)
    for room in (580, 495, 360):
        spec = rule_chart(drawn, numbers_, LIGHT, room)
        assert len(tiles_of(spec)) == len(set(steps)) + 1
        assert all(0 <= row["pulled"] <= spec["height"] for row in rows(spec, SUMS))


@pytest.mark.parametrize("ink", [LIGHT, DARK], ids=["light", "dark"])
def test_every_text_colour_stands_out_from_the_page(ink):
    for name in ("text", "soft", "m", "n", "k", "scale", "lost"):
        light, dark = sorted((_luminance(getattr(ink, name)), _luminance(ink.page)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, name


def _luminance(color: str) -> float:
    parts = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
