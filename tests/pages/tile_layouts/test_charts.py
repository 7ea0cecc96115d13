"""Contract: one rectangle a tile, where the grid puts it, colored by the scale that the quantizer gives."""

import math
from itertools import pairwise, product

import numpy as np
import pytest

from fp8core.contraction import contract
from fp8core.formats import FORMATS
from fp8core.inputs import InputKind
from fp8core.linear import MATMULS, OPERANDS, LayerShape, Side
from fp8core.recipes import RECIPES
from fp8core.tiles import WHOLE, TileShape
from pages.kit.charts.ink import DARK, LIGHT
from pages.kit.charts.tile_marks import TILES, WORDS
from pages.kit.charts.words import short
from pages.tile_layouts.charts.copies import copies_chart, readings
from pages.tile_layouts.charts.overview import CELLS, overview
from pages.tile_layouts.charts.overview import WIDTH as WIDE
from pages.tile_layouts.charts.picture import OUTER, PINNED, WIDTH, equation_lines, tile_picture
from pages.tile_layouts.charts.rule import LEAVES, SUMS, VARIES, RuleScene, rule_chart, summed_rows
from pages.tile_layouts.charts.scene import TO_SCALE, Scene, copy_scenes, numbers, overview_scenes
from pages.tile_layouts.charts.scene import scene as scene_of
from pages.tile_layouts.facts import EACH, FAMILY
from pages.tile_layouts.overview import notice as overview_notice
from pages.tile_layouts.overview import shown_recipes
from tests.pages.specs import dataset, rows
from tests.pages.tile_layouts.reference import quantized
from tests.sweeps import some_cases

LAYER = LayerShape(4096, 4096, 14336)
CASES = some_cases(
    2, {f"{recipe}-{matmul}": (recipe, matmul) for recipe, matmul in product(RECIPES, MATMULS)}
)
ROOMS = {"laptop": 580, "lesson": 495, "projector": 360}
NARROWEST_PICTURE, SMALLEST_TILE = 500, 6


def scene(recipe: str, matmul: str, layer: LayerShape = LAYER, seed: int = 0) -> Scene:
    return scene_of(RECIPES[recipe], MATMULS[matmul], InputKind.OUTLIER_CHANNELS.value, seed, layer)


def picture(drawn: Scene, ink=LIGHT, room: float = 580) -> dict:
    return tile_picture(drawn, drawn.tile(Side.A, 0, 0), (0, 0), ink, room)


def along_k(drawn: Scene, side: Side) -> set[tuple[int, int]]:
    """The stretches of k that tiles of an operand cover."""
    return set(map(tuple, drawn.tiles(side).k.T.tolist()))


def words(spec: dict) -> str:
    return " ".join(dataset(spec, WORDS)["text"])


@pytest.mark.parametrize(("recipe", "matmul"), CASES)
def test_each_operand_has_a_rectangle_a_tile_in_the_color_of_the_scale_that_quantize_gives(recipe, matmul):
    drawn = scene(recipe, matmul)
    every = rows(picture(drawn), TILES)
    marks = {(row["side"], row["row"], row["column"]): row for row in every}
    parts = math.prod(np.unique(drawn.tiles(side).free, axis=1).shape[1] for side in Side)
    assert sum(row["side"] == "D" for row in every) == parts
    for side in Side:
        tensor = MATMULS[matmul].operand(side)
        x = numbers(InputKind.OUTLIER_CHANNELS.value, tensor, drawn.drawn.of(tensor), 0, LAYER.in_)
        operand = RECIPES[recipe].operand(MATMULS[matmul], side)
        mine = [row for row in every if row["side"] == side.value]
        if operand is None:
            assert len(mine) == 1
            assert math.isnan(mine[0]["log2"])
            assert "no scale" in mine[0]["detail"]
            continue
        grid, scale = operand.grid(x.shape), quantized(x, operand).scale
        assert len(mine) == math.prod(grid.scale_shape)
        turned = MATMULS[matmul].is_transposed(side)
        for tile in grid.tiles():
            at = (tile.column, tile.row) if turned else (tile.row, tile.column)
            wanted = np.log2(scale[tile.row, tile.column])
            assert marks[side.value, *at]["log2"] == pytest.approx(wanted, abs=6e-4)
        shades = [row["shade"] for row in sorted(mine, key=lambda row: row["log2"])]
        assert all(0 <= shade <= later <= 1 for shade, later in pairwise(shades))


@pytest.mark.parametrize("room", ROOMS.values(), ids=ROOMS)
@pytest.mark.parametrize(("recipe", "matmul"), CASES)
def test_tiles_fill_their_panel_line_up_with_d_and_are_large_enough_to_see(recipe, matmul, room):
    drawn, area, box = scene(recipe, matmul), {}, {}
    spec = picture(drawn, room=room)
    assert all(row["y"] < spec["height"] for row in rows(spec, WORDS))
    for row in rows(spec, TILES):
        wide, tall = row["x1"] - row["x0"], row["y1"] - row["y0"]
        assert min(wide * NARROWEST_PICTURE / WIDTH, tall) >= SMALLEST_TILE or room < 450
        area[row["side"]] = area.get(row["side"], 0) + wide * tall
        corners = box.setdefault(row["side"], [math.inf, -math.inf, math.inf, -math.inf])
        corners[:] = [
            min(corners[0], row["x0"]), max(corners[1], row["x1"]),
            min(corners[2], row["y0"]), max(corners[3], row["y1"]),
        ]  # fmt: skip
    for side, (left, right, top, bottom) in box.items():
        assert area[side] == pytest.approx((right - left) * (bottom - top)), side
        assert bottom < spec["height"]
    assert box["A"][2:] == pytest.approx(box["D"][2:]), "A and D share m"
    assert box["B"][:2] == pytest.approx(box["D"][:2]), "B and D share n"
    assert box["A"][1] < box["D"][0], "A is left of D"
    assert box["B"][3] < box["D"][2], "B is above D"
    for side in Side:
        operand = drawn.spec.operand(side)
        assert len(along_k(drawn, side)) == (1 if drawn.spec.extent(side) is WHOLE else 4)
        if operand and operand.tile.mn == 1:
            assert 8 <= np.unique(drawn.tiles(side).free, axis=1).shape[1] <= 24


@pytest.mark.parametrize(("recipe", "matmul"), CASES)
def test_tiles_at_once_are_those_one_by_one_with_the_reference_s_values(recipe, matmul):
    drawn = scene(recipe, matmul, LayerShape(130, 200, 50))
    for side in Side:
        seen = drawn.tiles(side)
        tiles = [drawn.tile(side, row, column) for row, column in zip(seen.row, seen.column, strict=True)]
        for name in ("free", "k"):
            ends = [(part.start, part.stop) for part in (getattr(tile, name) for tile in tiles)]
            assert list(map(tuple, getattr(seen, name).T)) == ends
        for name in ("rows", "columns"):
            ends = [(part.start, part.stop) for part in (getattr(tile.stored, name) for tile in tiles)]
            assert list(map(tuple, getattr(seen, name).T)) == ends
        assert seen.scale.tolist() == pytest.approx([tile.scale for tile in tiles], rel=0, nan_ok=True)
        shown = drawn.operand(side)
        values = drawn.factors_along_k(side, 3) * drawn.scale_along_k(side, 3)
        if shown.operand is None:
            truth = shown.corner.astype(FORMATS["bf16"].ml_dtype).astype(np.float64)
        else:
            truth = quantized(shown.corner, shown.operand).exact_values()
        assert values.tolist() == drawn.along_k(side, truth, 3).tolist()


def test_a_layer_smaller_than_the_corner_is_drawn_whole():
    small = scene("deepseek_v3", "wgrad", LayerShape(130, 3, 5))
    assert small.drawn == LayerShape(130, 3, 5)
    assert along_k(small, Side.A) == {(0, 128), (128, 130)}
    assert "all 130 drawn" in words(picture(small))


def test_the_highlight_follows_m_n_and_k_of_the_pinned_tile():
    drawn = scene("deepseek_v3", "fprop")
    spec = tile_picture(drawn, drawn.tile(Side.A, 5, 2), (5, 7), DARK)
    pinned = {row["panel"]: row for row in rows(spec, PINNED)}
    assert set(pinned) == {"A", "B", "D", "output"}
    for row in pinned.values():
        assert [row[name] for name in ("m0", "m1", "k0", "k1", "n0", "n1")] == [5, 6, 256, 384, -1, -1]
    row = rows(tile_picture(drawn, drawn.tile(Side.B, 1, 2), (0, 300), DARK), PINNED)[0]
    assert [row[name] for name in ("n0", "n1", "k0", "k1", "m0")] == [256, 384, 128, 256, -1]
    dot = rows(tile_picture(drawn, drawn.tile(Side.A, 5, 0), (5, 7), LIGHT), PINNED)[-1]
    unit = (dot["right"] - dot["left"]) / dot["columns"], (dot["bottom"] - dot["top"]) / dot["rows"]
    assert (dot["x0"] + dot["x1"]) / 2 == pytest.approx(dot["left"] + 7.5 * unit[0])
    assert (dot["y0"] + dot["y1"]) / 2 == pytest.approx(dot["top"] + 5.5 * unit[1])
    params = {param["name"]: param["views"] for param in spec["params"]}
    assert params == {"pin": ["tiles"], "hover": ["tiles"]}


@pytest.mark.parametrize(("recipe", "matmul"), CASES)
def test_unusual_steps_are_written_and_outer_tiles_are_outlined(recipe, matmul):
    drawn = scene(recipe, matmul)
    spec = picture(drawn)
    fitted = [one for side in Side if (one := drawn.operand(side)).outer_grid]
    assert len(rows(spec, OUTER)) == sum(math.prod(one.outer_grid.scale_shape) for one in fitted)
    for one in fitted:
        constant = one.operand.spec.scale_rule.outer.constant
        wanted = f"times {constant:.6g}" if constant else short(float(one.scales.outer[0, 0]), 3)
        assert wanted in words(spec)
    for side in Side:
        rotation = drawn.spec.operand(side) and drawn.spec.operand(side).rotation
        assert rotation is None or f"rotated, {rotation.size} along K" in words(spec)
    assert ("stochastic" in words(spec)) == any(o.is_random for o in drawn.spec.quantized)
    assert words(spec).count("bf16, no scale") == 2 - len(drawn.spec.quantized)


def test_the_equation_has_the_indices_that_the_tiles_leave():
    def text(spec) -> str:
        return " ".join(equation_lines(spec))

    deepseek, mxfp8 = RECIPES["deepseek_v3"], RECIPES["mxfp8"]
    assert text(deepseek.fprop) == "D[m,n] = Σj sA[m,j]·sB[j,⌊n/128⌋] · Σk∈j a[m,k]·b[k,n]"
    drawn = dataset(picture(scene("deepseek_v3", "fprop")), WORDS)["text"]
    assert all(piece == piece.strip() for piece in drawn), "SVG drops a blank at the start"
    assert "Σj sA[m,j]·sB[j,n]" in text(deepseek.wgrad)
    assert "Σj sA[m,j]·sB[j,n]" in text(mxfp8.fprop)
    assert "sA[m]·sB[n]" in text(RECIPES["rowwise"].fprop)
    assert "Σj" not in text(RECIPES["per_tensor"].fprop)
    assert "sA·sB" in text(RECIPES["per_tensor"].fprop)


@pytest.mark.parametrize("choice", FAMILY.options)
def test_the_overview_has_every_tile_of_a_family_s_recipes_to_scale(choice):
    recipes = shown_recipes(choice)
    scenes = overview_scenes(recipes, InputKind.GAUSSIAN.value, 0, LAYER)
    assert len(scenes) == len(recipes) * len(MATMULS)
    spec = overview(scenes, LIGHT)
    marks, cells = rows(spec, TILES), rows(spec, CELLS)
    tiles = sum(math.prod(drawn.grid_shape(side)) for drawn in scenes for side in Side)
    assert len(marks) == tiles + len(scenes)
    for prefix in ("", "n_"):
        assert len({(cell[f"{prefix}x0"], cell[f"{prefix}y0"]) for cell in cells}) == len(scenes)
        for row in (*marks, *cells):
            assert row[f"{prefix}x1"] <= WIDE
            assert row[f"{prefix}y1"] <= spec["height"]
    for drawn in scenes:
        for side in Side:
            extent = drawn.spec.extent(side)
            assert len(along_k(drawn, side)) == (1 if extent is WHOLE else TO_SCALE // extent)


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
    hidden = copies_chart(recipe, LAYER, scenes, LIGHT, has_figures=False)
    assert ("in all" in words(spec), "in all" in words(hidden)) == (True, False)


@pytest.mark.parametrize("a", [1, 32, 128, WHOLE])
@pytest.mark.parametrize("summed", [32, 128, WHOLE])
def test_the_rule_marks_exactly_the_stretches_that_a_change_of_scale_falls_into(a, summed):
    k = 512
    steps, length = np.arange(k) // (k if a is WHOLE else a) + 1.0, k if summed is WHOLE else summed
    drawn = RuleScene(
        a=TileShape(1, a), b=TileShape(1, WHOLE), sums=summed, a_scale=steps, b_scale=np.ones(k)
    )
    stretches = [steps[start : start + length] for start in range(0, k, length)]
    wanted = [LEAVES if len(set(one)) == 1 else VARIES for one in stretches]
    assert [row["verdict"] for row in summed_rows(drawn)] == wanted
    sums = contract(np.ones(k), np.ones(k), steps, np.ones(k), summed)
    for room in ROOMS.values():
        spec = rule_chart(drawn, sums, LIGHT, room)
        assert len(rows(spec, TILES)) == len(set(steps)) + 1
        assert all(row["y"] < spec["height"] for row in rows(spec, WORDS))
        bars = rows(spec, SUMS)
        zero = bars[0]["y0"]
        assert all(0 <= row["pulled"] <= spec["height"] for row in bars)
        heights = [(zero - row["y1"], zero - row["pulled"]) for row in bars]
        unit = heights[0][0] / sums.right_parts[0]
        both = zip(sums.right_parts, sums.pulled_out_parts, strict=True)
        assert np.allclose(heights, [(unit * right, unit * pulled) for right, pulled in both])
