"""Contract: the table of differences is that of grids, formats and copies; the curves are those measured."""

import numpy as np
import pytest

from fp8core.experiments.error_curves import BAND_K, Counted, drawn_bands, sqnr_of
from fp8core.formats import FORMATS
from fp8core.inputs import InputKind
from fp8core.linear import FPROP, MATMULS, OPERANDS, LayerTensor, Side
from fp8core.quantize import scales
from fp8core.recipes import RECIPES, Family, Operand, OperandSpec
from fp8core.scales import SCALE_RULES
from fp8core.tiles import WHOLE, TileShape
from pages.compare_recipes.charts.curves import CURVES, LINE, SQUARE, size_curve, small_error
from pages.compare_recipes.charts.size import POINTS, size_chart
from pages.compare_recipes.charts.table import (
    BOXES,
    CORNER,
    GOLD_ROW,
    OUTLINES,
    WIDTH,
    differences,
    granularity,
    numbers,
    scale_count,
    scale_name,
    scale_values,
    table_chart,
)
from pages.compare_recipes.facts import CONTROLS, FACTS
from pages.compare_recipes.table import notice
from pages.kit.charts.ink import LIGHT
from pages.kit.charts.tile_marks import TILES, WORDS
from pages.kit.charts.words import short, span
from tests.pages.specs import rows

KIND = InputKind.OUTLIER_CHANNELS.value


@pytest.mark.parametrize("name", RECIPES)
def test_a_row_has_a_rectangle_for_each_tile_of_x_and_a_square_for_each_copy(name) -> None:
    row = differences(name, KIND, 0)
    spec, grid = table_chart([row], LIGHT), RECIPES[name].grid(FPROP, Side.A, CORNER)
    tiles, layouts = rows(spec, TILES), 0
    assert len(tiles) == (1 if grid is None else grid.scale_shape[0] * grid.scale_shape[1])
    for prefix in ("", "n_"):
        area = sum(
            (t[f"{prefix}x1"] - t[f"{prefix}x0"]) * (t[f"{prefix}y1"] - t[f"{prefix}y0"]) for t in tiles
        )
        ends = [[pick(t[f"{prefix}{a}{i}"] for t in tiles) for i, pick in ((0, min), (1, max))] for a in "xy"]
        assert area == pytest.approx((ends[0][1] - ends[0][0]) * (ends[1][1] - ends[1][0]))
    if grid is not None:
        x, operand = numbers(KIND, 0), RECIPES[name].operand(FPROP, Side.A)
        assert [tile["scale"] for tile in tiles] == [
            short(s) for s in scales(x, operand).stored.ravel().tolist()
        ]
    assert row.copy_count == sum(RECIPES[name].copies(tensor) for tensor in OPERANDS)
    for copies in row.copies.values():
        layouts += sum(len(copy.k_major) for copy in copies)
    if row.transposed_count:
        assert f"{row.copy_count} + {layouts - row.copy_count} transposed" in str(rows(spec, WORDS))
    boxes = {box["what"] for box in rows(spec, BOXES)}
    cells = {box["recipe"].removeprefix(f"{name} ") for box in rows(spec, BOXES)}
    assert {name, "scales", "copies"} <= cells <= {name, "scales", "copies", *MATMULS}
    assert len([what for what in boxes if what.startswith(("x for", "w for", "dy for"))]) == layouts


@pytest.mark.parametrize("name", RECIPES)
def test_an_outline_has_the_rows_and_the_columns_of_the_gold_number_s_tile(name) -> None:
    row = differences(name, KIND, 0)
    spec = table_chart([row], LIGHT)
    tiles = [t for t in rows(spec, TILES) if f"x[{span(row.grid.tile_at(0, 0).rows)}," in t["what"]]
    outlines = rows(spec, OUTLINES)
    if row.operand is None:
        assert not outlines
        return
    (outline,), tile = outlines, row.grid.tile_at(*row.grid.tile_of(GOLD_ROW, 0))
    assert outline["across"] == row.grid.extents[1]
    share = (tiles[0]["y1"] - tiles[0]["y0"]) / len(row.grid.tile_at(0, 0).rows)
    assert outline["y0"] == pytest.approx(tiles[0]["y0"] + share * tile.rows.start)
    assert outline["y1"] - outline["y0"] == pytest.approx(share * len(tile.rows))


@pytest.mark.parametrize("room", [580, 495, 360], ids=["laptop", "lesson", "projector"])
def test_all_recipes_of_the_largest_family_fit_into_the_picture(room) -> None:
    family = [differences(name, KIND, 0) for name, recipe in RECIPES.items() if recipe.family is Family.MX]
    spec = table_chart(family, LIGHT, room)
    for prefix in ("", "n_"):
        assert all(
            row[f"{prefix}y"] <= spec["height"] or (prefix and room < 450) for row in rows(spec, WORDS)
        )
        assert all(row[f"{prefix}x1"] <= WIDTH for row in rows(spec, BOXES))


def test_the_ruler_has_every_scale_that_the_format_has_from_one_to_four() -> None:
    for name in RECIPES:
        rule = differences(name, KIND, 0).rule
        if rule.format.bits > 16 or rule.powers_of_two:
            continue
        values = rule.format.decode(np.arange(1 << rule.format.bits))
        inside = np.unique(values[(values >= 1) & (values <= 4)])
        assert scale_values(rule).tolist() == inside.tolist(), name
    counts = {scale_count(rule) for rule in SCALE_RULES.values()}
    assert counts == {3, 2 * (1 << FORMATS["fp32"].mantissa_bits) + 1}


def test_the_notice_compares_how_many_numbers_share_a_scale() -> None:
    words = notice([differences(name, KIND, 0) for name in ("mxfp8", "per_tensor")])
    assert words == (
        "A number of x shares its scale with 16.8 million others in Per tensor, hybrid, and with **31** in "
        "MXFP8."
    )
    assert notice([differences(name, KIND, 0) for name in ("mxfp8", "mxfp4")]).endswith("**31 others**.")
    assert differences("deepseek_v3", KIND, 0).others == 127
    assert differences("rowwise", KIND, 0).others == 4095


@pytest.mark.parametrize(("rule", "tile"), CURVES)
def test_a_curve_is_the_error_of_its_tiles(rule, tile) -> None:
    kind, extent = InputKind.OUTLIER_TOKENS, 16
    curve = size_curve(rule, tile, "e2m1", kind.value, 1, (extent,))
    shape = TileShape(extent if tile == SQUARE else 1, extent)
    spec = OperandSpec(format=FORMATS["e2m1"], tile=shape, scale_rule=SCALE_RULES[rule])
    x = drawn_bands(kind, 1)[2]
    for part, draws in ((Counted.ALL, curve.every), (Counted.SMALLER_HALF, curve.small)):
        assert draws[0].sqnr_db[2] == sqnr_of(x, Operand(spec=spec, k_is_rows=False), counted=part)
    scale_bits = FORMATS["fp32" if rule == "fp32" else "e8m0"].bits
    assert curve.every[0].bits == 4 + scale_bits / (shape.mn * shape.k)


def test_the_chart_has_a_point_for_each_extent_with_its_range() -> None:
    curve = size_curve("fp32", LINE, "e2m1", KIND, 0, (8, BAND_K))
    points = rows(size_chart({"one": curve}, LIGHT), POINTS)
    assert [row["at"] for row in points] == [8, BAND_K]
    for row, every, small in zip(points, curve.every, curve.small, strict=True):
        assert (row["sqnr_low"], row["sqnr"], row["sqnr_high"]) == (every.low, every.mean, every.high)
        assert row["small_low"] <= row["small"] <= row["small_high"]
        assert row["small"] == pytest.approx(small_error(small)[0])
        assert row["bits"] == every.bits


def test_facts_of_a_lesson_are_those_of_the_chart() -> None:
    defaults = {control.key: control.default for control in CONTROLS}
    assert [FACTS["shortest"](defaults), FACTS["longest"](defaults)] == [8, BAND_K]
    narrow, wide = (FACTS["error_longest"](defaults | {"differ_format": name}) for name in ("e2m1", "e4m3"))
    assert wide < 0.05 < 0.9 < narrow
    assert FACTS["error_shortest"](defaults) < 0.3
    assert FACTS["bits_shortest"](defaults) == pytest.approx(8.0)
    assert FACTS["bits_longest"](defaults) == pytest.approx(4 + 32 / BAND_K)


X, W = LayerTensor.X, LayerTensor.W


@pytest.mark.parametrize(
    ("tensor", "tile", "name"),
    [
        (X, (WHOLE, WHOLE), "tensor-wise"),
        (X, (1, WHOLE), "row-wise, token-wise"),
        (X, (WHOLE, 1), "row-wise, channel-wise"),
        (W, (1, WHOLE), "row-wise, channel-wise"),
        (X, (1, 32), "group-wise"),
        (X, (128, 1), "group-wise"),
        (W, (128, 128), "block-wise"),
    ],
    ids=str,
)
def test_a_tile_has_the_name_that_people_use(tensor, tile, name) -> None:
    assert granularity(tensor, tile) == name


def test_a_scale_is_named_by_its_format_and_levels() -> None:
    names = {name: scale_name(RECIPES[name].fprop.a.scale_rule) for name in ("mxfp8", "nvfp4", "rowwise")}
    assert names == {"mxfp8": "e8m0", "nvfp4": "e4m3 under fp32", "rowwise": "fp32"}
