"""Contract: the table of differences is that of grids, formats and copies; the curves are those measured."""

import numpy as np
import pytest

from fp8core.experiments.error_curves import BAND_K, Counted, drawn_bands, over_tiles, sqnr_of
from fp8core.formats import FORMATS
from fp8core.inputs import InputKind
from fp8core.linear import FPROP, OPERANDS, Side
from fp8core.recipes import RECIPES, Family, Operand, OperandSpec
from fp8core.scales import SCALE_RULES
from fp8core.tiles import TileShape
from pages.compare_recipes.charts.scene import small_error
from pages.compare_recipes.charts.size import POINTS, points, size_chart
from pages.compare_recipes.charts.table import BOXES, WIDTH, scale_count, scale_values, table_chart
from pages.compare_recipes.data import CORNER, differences
from pages.compare_recipes.size import why
from pages.compare_recipes.sizes import CURVES, LINE, RULES, SQUARE, curve_name, size_curve
from pages.compare_recipes.table import described, notice
from pages.kit.charts.ink import LIGHT
from pages.kit.charts.tile_marks import TILES, WORDS
from tests.pages.specs import dataset, rows

KIND = InputKind.OUTLIER_CHANNELS.value


def test_a_row_has_a_rectangle_for_each_tile_of_x() -> None:
    for name, recipe in RECIPES.items():
        spec = table_chart([differences(name, KIND, 0)], LIGHT)
        grid = recipe.grid(FPROP, Side.A, CORNER)
        wanted = 1 if grid is None else grid.scale_shape[0] * grid.scale_shape[1]
        assert len(dataset(spec, TILES)["x0"]) == wanted, name


@pytest.mark.parametrize("room", [580, 495, 360], ids=["laptop", "lesson", "projector"])
def test_all_recipes_of_the_largest_family_fit_into_the_picture(room) -> None:
    shown = [differences(name, KIND, 0) for name, recipe in RECIPES.items() if recipe.family is Family.MX]
    spec = table_chart(shown, LIGHT, room)
    for prefix in ("", "n_"):
        assert all(
            row[f"{prefix}y"] <= spec["height"] or (prefix and room < 450) for row in rows(spec, WORDS)
        )
        assert all(row[f"{prefix}x1"] <= WIDTH for row in rows(spec, BOXES))


def test_copies_are_as_many_as_the_recipe_needs() -> None:
    for name, recipe in RECIPES.items():
        found = differences(name, KIND, 0)
        assert found.kept == sum(recipe.copies(tensor) for tensor in OPERANDS)
        said = {box["what"] for box in rows(table_chart([found], LIGHT), BOXES)}
        copies = [one for one in said if one.startswith(("x for", "w for", "dy for"))]
        assert len(copies) == found.kept + found.layouts, name


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


def test_names_of_granularities_and_scales_are_said_where_they_are_shown() -> None:
    shown = [
        differences(name, KIND, 0) for name in ("per_tensor", "rowwise", "deepseek_v3", "mxfp8", "nvfp4")
    ]
    words = " ".join(dataset(table_chart(shown, LIGHT), WORDS)["text"])
    for name in ("tensor-wise", "token-wise", "group-wise", "under fp32"):
        assert name in words
    for name in ("tensor-wise", "channel-wise", "block-wise", "ue8m0", "two-level"):
        assert name in described(shown)


def test_the_notice_compares_how_many_numbers_share_a_scale() -> None:
    told = notice([differences(name, KIND, 0) for name in ("mxfp8", "per_tensor")])
    assert told == (
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
    for counted, found in ((Counted.ALL, curve.every), (Counted.SMALLER_HALF, curve.small)):
        assert found[0].sqnr_db[2] == sqnr_of(x, Operand(spec=spec, k_is_rows=False), counted=counted)
    scale_bits = FORMATS["fp32" if rule == "fp32" else "e8m0"].bits
    assert curve.every[0].bits == 4 + scale_bits / (shape.mn * shape.k)


@pytest.mark.parametrize(("format_name", "is_even"), [("e4m3", True), ("hif8", False)])
def test_a_scale_hardly_matters_only_where_every_binade_has_as_many_mantissa_bits(
    format_name, is_even
) -> None:
    curves = {
        curve_name(rule, LINE): size_curve(rule, LINE, format_name, KIND, 0, (8, BAND_K)) for rule in RULES
    }
    told = why(curves, format_name)
    assert ("hardly depends on its scale" in told) == is_even
    assert ("where hif8 has few mantissa bits" in told) != is_even


def test_the_chart_has_a_point_for_each_extent_with_its_range() -> None:
    curve = size_curve("fp32", LINE, "e2m1", KIND, 0, (8, BAND_K))
    spec = size_chart({"one": curve}, LIGHT)
    shown = rows(spec, POINTS)
    assert shown == points({"one": curve})
    assert [row["at"] for row in shown] == [8, BAND_K]
    for row in shown:
        assert row["sqnr_low"] <= row["sqnr"] <= row["sqnr_high"]
        assert row["small_low"] <= row["small"] <= row["small_high"]


def test_an_error_of_zero_decibels_is_a_hundred_percent() -> None:
    (draws,) = over_tiles(
        Operand(
            spec=OperandSpec(format=FORMATS["e2m1"], tile=TileShape(1, 1), scale_rule=SCALE_RULES["fp32"]),
            k_is_rows=False,
        ),
        drawn_bands(InputKind.OUTLIER_CHANNELS, 0),
        (BAND_K,),
        Counted.SMALLER_HALF,
    )
    assert draws.mean == pytest.approx(0, abs=0.1)
    assert small_error(draws)[0] == pytest.approx(1, abs=0.02)
