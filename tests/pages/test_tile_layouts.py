"""Contract: every recipe, matmul and section of "Tile layouts" draws, from any address, and quickly."""

import json
import math
import statistics

import pytest

from fp8core.contraction import rescales_per_output
from fp8core.costs import copy_cost
from fp8core.linear import MATMULS, OPERANDS, LayerShape, LayerTensor, Side
from fp8core.recipes import RECIPES
from pages.kit.charts.ink import LIGHT
from pages.sections.tiles.card import output_parts, unquantized
from pages.sections.tiles.charts.scene import drawn_layer
from pages.sections.tiles.controls import ALL_CONTROLS, SHOW
from pages.sections.tiles.counts import comparison_table, copies_table, size
from pages.sections.tiles.data import scene
from pages.sections.tiles.rule import preset_of, rule_numbers
from pages.sections.tiles.words import hardware, notice, second_copies
from tests.cpu import cpu_seconds
from tests.pages.hostile import A_PAGE, hostile_queries
from tests.sweeps import crossed

PAGE = "pages/tile_layouts.py"
LAYER = LayerShape(4096, 4096, 14336)
SHOWN = {f"{recipe}-{section}": (recipe, section) for recipe in RECIPES for section in SHOW.options}
GEMMS = {f"{recipe}-{matmul}": (recipe, matmul) for recipe in RECIPES for matmul in MATMULS}

RERUN_MS = 150
SLOW_MACHINE = 4


def chart(at, number=0) -> dict:
    return json.loads(at.get("vega_lite_chart")[number].proto.spec)


def tiles(spec: dict) -> list[dict]:
    return next(layer["data"]["values"] for layer in spec["layer"] if layer.get("name") == "tiles")


def html(at) -> str:
    return " ".join(element.proto.body for element in at.get("html"))


def words(at) -> str:
    return " ".join(element.value for element in at.markdown)


@pytest.mark.parametrize(("recipe", "matmul", "section"), crossed(GEMMS, SHOW.options))
def test_every_section_draws_for_every_recipe_and_matmul(open_app, recipe, matmul, section):
    at = open_app(PAGE, recipe=recipe, matmul=matmul, show=section)
    assert not at.exception
    assert at.title[0].value == "Which elements share one scale?"
    if section == "picture":
        drawn = drawn_layer(MATMULS[matmul], RECIPES[recipe].spec(MATMULS[matmul]), LAYER)
        for side in Side:
            shape = drawn.of(MATMULS[matmul].operand(side))
            grid = RECIPES[recipe].grid(MATMULS[matmul], side, shape)
            shown = [row for row in tiles(chart(at)) if row["side"] == side.value]
            assert len(shown) == math.prod(grid.scale_shape)
    assert len(at.get("vega_lite_chart")) == {"copies": 3, "counts": 0}.get(section, 1)
    if section in ("picture", "copies", "counts"):
        assert any(RECIPES[recipe].source in caption.value for caption in at.caption)


def test_switching_recipe_and_matmul_changes_picture_and_address(open_app):
    at = open_app(PAGE)
    before = len(tiles(chart(at)))
    at.segmented_control(key="recipe").set_value("rowwise").run()
    at.segmented_control(key="matmul").set_value("wgrad").run()
    assert len(tiles(chart(at))) == 16 + 16 + 16 * 16 != before
    assert (at.query_params["recipe"], at.query_params["matmul"]) == ("rowwise", "wgrad")


@pytest.mark.parametrize(
    ("address", "value"),
    [("-1", 5), ("999999999999", 5), ("300", 15), ("abc", 5), ("3", 3)],
    ids=["below", "far above", "beyond the grid", "no number", "inside"],
)
def test_a_tile_row_from_the_address_is_brought_into_the_grid(open_app, address, value):
    at = open_app(PAGE, row=address)
    assert not at.exception
    assert at.number_input(key="row").value == value


def test_a_tile_row_moves_into_a_smaller_grid(open_app):
    at = open_app(PAGE, row="15")
    at.segmented_control(key="side").set_value("B").run()
    assert not at.exception
    assert at.number_input(key="row").value == 3
    assert "k = 384…511" in html(at)


def test_fields_pin_the_tile_whose_numbers_the_card_shows(open_app):
    at = open_app(PAGE, row="7", column="2")
    assert "x[7, 256:384]" in html(at)
    at.number_input(key="column").set_value(3).run()
    assert "x[7, 384:512]" in html(at)
    drawn = scene("deepseek_v3", "fprop", "outlier_channels", 0, LAYER)
    assert f"{drawn.tile(Side.A, 7, 3).scale:.4g}" in html(at)


@pytest.mark.parametrize(("recipe", "matmul"), GEMMS.values(), ids=GEMMS)
def test_the_stretches_in_the_card_add_up_to_the_product_of_the_quantized_operands(recipe, matmul):
    drawn = scene(recipe, matmul, "gaussian", 1, LAYER)
    spec = drawn.spec
    a, b = (drawn.along_k(side, drawn.operand(side).quantized.exact_values(), 3) for side in Side)
    parts = output_parts(drawn, 3, 3)
    assert len(parts) == rescales_per_output(drawn.mnk[2], spec.a.tile.k, spec.b.tile.k)
    assert sum(part.value for part in parts) == pytest.approx(float(a @ b), rel=1e-12, abs=1e-12)
    assert sum(part.value for part in parts) == pytest.approx(unquantized(drawn, 3, 3), abs=3)


def test_what_to_notice_differs_with_the_geometry():
    cases = [case for case in GEMMS.values() if case[0] != "per_tensor_e4m3"]
    said = {case: notice(scene(*case, "gaussian", 0, LAYER)) for case in cases}
    assert "each row of A has 4 scales" in said["deepseek_v3", "fprop"]
    assert "32 times over the whole K = 4,096" in said["deepseek_v3", "fprop"]
    assert "448 times" in said["mxfp8", "dgrad"]
    assert "All of A shares one scale" in said["per_tensor", "wgrad"]
    assert "each group of 128 columns of B" in said["deepseek_v3", "dgrad"]
    assert "each column of B" in said["deepseek_v3", "wgrad"]


def test_second_copies_are_named_where_another_matmul_reads_other_tiles():
    assert "Wgrad needs x in tiles of 128 × 1, Fprop needs it in tiles of 1 × 128" in second_copies(
        scene("deepseek_v3", "wgrad", "gaussian", 0, LAYER)
    )
    assert second_copies(scene("per_tensor", "fprop", "gaussian", 0, LAYER)) == ""


def test_the_overview_opens_a_recipe_by_its_button(open_app):
    at = open_app(PAGE, show="overview")
    at.button(key="open_mxfp8_wgrad").click().run()
    assert not at.exception
    assert at.query_params == {"recipe": "mxfp8", "matmul": "wgrad"}
    assert len(tiles(chart(at))) == 64 + 64 + 256


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_recipes_fall_out_of_the_rule_as_presets(open_app, recipe):
    at = open_app(PAGE, show="rule", matmul="wgrad")
    at.button(key=f"rule_{recipe}").click().run()
    assert not at.exception
    chosen = preset_of(RECIPES[recipe].wgrad)
    assert {key: at.selectbox(key=key).value for key in chosen} == chosen
    assert "✓ The scales leave the sum" in words(at)
    assert [metric.value for metric in at.metric][2] == "nothing"


def test_a_scale_that_varies_inside_the_stretch_gives_a_wrong_number(open_app):
    at = open_app(PAGE, show="rule", a_k="32", summed="128")
    assert "✗ The scale of A changes inside 4 of 4 summed stretches" in words(at)
    right, wrong, off = (metric.value for metric in at.metric)
    assert right != wrong
    assert off != "nothing"
    _, numbers_ = rule_numbers(("1", "32", "128", "128", "128"), "fprop", "outlier_channels", 0, LAYER.in_)
    assert float(right.replace("−", "-").replace(",", "")) == pytest.approx(numbers_.right, rel=1e-3)


def test_every_extent_of_the_rule_can_be_chosen(open_app):
    at = open_app(PAGE, show="rule")
    for key in ("a_m", "a_k", "b_n", "b_k", "summed"):
        for value in at.selectbox(key=key).options[:2] and ("1", "all") if key != "summed" else ("32", "all"):
            at.selectbox(key=key).set_value(value).run()
            assert not at.exception, (key, value)


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_counts_are_those_of_the_true_shape(recipe):
    table = copies_table(recipe, LAYER, LIGHT)
    for tensor in OPERANDS:
        for copy in recipe.quantized_copies(tensor):
            cost = copy_cost(copy, LAYER)
            assert f"{cost.scales:,}" in table
            assert size(cost.code_bytes) in table
    assert " / ".join(str(recipe.copies(t)) for t in OPERANDS) in comparison_table(LAYER, LIGHT)


def test_the_page_says_which_scales_a_tensor_core_applies_by_itself(open_app):
    for name, matmul in GEMMS.values():
        told = hardware(RECIPES[name].spec(MATMULS[matmul]))
        assert ("applies them itself" in told) == (name == "mxfp8")
        assert ("knows no scales" in told) == (name in ("deepseek_v3", "mxfp8"))
    assert "at least once every 128 k" in hardware(RECIPES["deepseek_v3"].spec(MATMULS["wgrad"]))
    assert "applies them itself" in words(open_app(PAGE, recipe="mxfp8"))
    told = words(open_app(PAGE, show="copies"))
    assert "**On Hopper**, the FP8 tensor core (wgmma)" in told
    assert "FP8 operands may lie either way" in told


def test_the_classic_copies_are_on_the_page(open_app):
    at = open_app(PAGE, show="copies")
    assert "x twice, w once, dy twice" in words(at)
    assert "**w**: quantized once, stored twice. Only the layout differs." in words(at)
    assert RECIPES["deepseek_v3"].copies(LayerTensor.W) == 1


def test_controls_keep_their_values_when_pages_are_switched(open_app):
    at = open_app(PAGE, recipe="rowwise", row="9", show="picture", tokens="2048", a_k="16")
    at.switch_page("pages/live_gemm.py").run()
    at.switch_page(PAGE).run()
    assert not at.exception
    assert at.segmented_control(key="recipe").value == "rowwise"
    assert at.number_input(key="row").value == 9
    assert at.number_input(key="tokens").value == 2048


@pytest.mark.parametrize("part", range(6))
def test_hostile_addresses_give_a_page(open_app, part):
    at = open_app(PAGE)
    sections, recipes = list(SHOW.options), list(RECIPES)
    for number, query in enumerate(hostile_queries([c.key for c in ALL_CONTROLS], A_PAGE)[part::6]):
        if number % 4:  # the rest of such an address reaches every section
            query |= {"show": sections[number % 5], "recipe": recipes[number // 5 % 5]}
        at.query_params.clear()
        for key, value in query.items():
            at.query_params[key] = value
        at.run()
        assert not at.exception, query
        assert at.title[0].value == "Which elements share one scale?"


@pytest.mark.parametrize(("recipe", "section", "size_"), crossed(SHOWN, ("1", "3", "129", "131072")))
def test_layers_of_any_size_draw(open_app, recipe, section, size_):
    sizes = {"tokens": size_, "in": size_, "out": size_}
    at = open_app(PAGE, recipe=recipe, show=section, matmul="wgrad", **sizes)
    assert not at.exception


def test_a_rerun_is_quick(open_app):
    at = open_app(PAGE)
    times = []
    for row in range(12):
        times.append(1e3 * cpu_seconds(at.number_input(key="row").set_value(row).run))
    assert statistics.median(times) <= RERUN_MS * SLOW_MACHINE, times
