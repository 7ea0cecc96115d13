"""Contract: every recipe, matmul and section of "Tile layouts" draws, from any address, and quickly."""

import math

import numpy as np
import pytest

from fp8core.contraction import rescales_per_output
from fp8core.costs import copy_cost
from fp8core.formats import FORMATS
from fp8core.inputs import InputKind
from fp8core.linear import MATMULS, OPERANDS, LayerShape, LayerTensor, Side
from fp8core.philox import random_bits
from fp8core.quantize import quantize
from fp8core.recipes import RECIPES
from fp8core.tiles import TileShape
from kernels.operand_passes.native import NATIVE, NativeKind, kind_of
from pages.kit.charts.ink import LIGHT
from pages.kit.charts.tile_marks import TILES
from pages.kit.charts.words import bytes_text, percent_text
from pages.tile_layouts.card import output_parts, unquantized
from pages.tile_layouts.charts.operand import DrawnOperand
from pages.tile_layouts.charts.scene import Scene, drawn_layer
from pages.tile_layouts.controls import ALL_CONTROLS, SHOW
from pages.tile_layouts.copies import copies_table
from pages.tile_layouts.copies import notice as copies_notice
from pages.tile_layouts.data import scene as scene_of
from pages.tile_layouts.rule import preset_of, rule_numbers
from pages.tile_layouts.words import hardware, notice, second_copies
from tests.pages.hostile import A_PAGE, hostile_queries
from tests.pages.recipe_chooser import choose_recipe, recipe_list
from tests.pages.specs import sent_dataset
from tests.sweeps import crossed, one_in

PAGE = "pages/tile_layouts.py"
LAYER = LayerShape(4096, 4096, 14336)
SHOWN = {f"{recipe}-{section}": (recipe, section) for recipe in RECIPES for section in SHOW.options}
GEMMS = {f"{recipe}-{matmul}": (recipe, matmul) for recipe in RECIPES for matmul in MATMULS}


def scene(recipe: str, matmul: str, *rest) -> Scene:
    return scene_of(RECIPES[recipe], MATMULS[matmul], *rest)


def sides(at) -> list[str]:
    """The side of each tile that the picture shows."""
    return sent_dataset(at.get("vega_lite_chart")[0], TILES)["side"]


def html(at) -> str:
    return " ".join(element.proto.body for element in at.get("html"))


def words(at) -> str:
    return " ".join(element.value for element in at.markdown)


@pytest.mark.parametrize(("recipe", "matmul", "section"), crossed(GEMMS, SHOW.options, every=5))
def test_every_section_draws_for_every_recipe_and_matmul(open_app, recipe, matmul, section):
    at = open_app(PAGE, recipe=recipe, matmul=matmul, show=section)
    assert not at.exception
    assert at.title[0].value == "Which elements share one scale?"
    if section == "picture":
        drawn = drawn_layer(MATMULS[matmul], RECIPES[recipe].spec(MATMULS[matmul]), LAYER)
        for side in Side:
            shape = drawn.of(MATMULS[matmul].operand(side))
            grid = RECIPES[recipe].grid(MATMULS[matmul], side, shape)
            assert sides(at).count(side.value) == (math.prod(grid.scale_shape) if grid else 1)
    assert len(at.get("vega_lite_chart")) == 1
    if section != "overview":
        assert any(RECIPES[recipe].source in caption.value for caption in at.caption)


def test_switching_recipe_and_matmul_changes_picture_and_address(open_app):
    at = open_app(PAGE)
    before = len(sides(at))
    choose_recipe(at, "rowwise")
    at.segmented_control(key="matmul").set_value("wgrad").run()
    assert len(sides(at)) == 12 + 12 + 12 * 12 != before
    assert (at.query_params["recipe"], at.query_params["matmul"]) == ("rowwise", "wgrad")


@pytest.mark.parametrize(
    ("address", "value"),
    [("-1", 5), ("999999999999", 5), ("300", 11), ("abc", 5), ("3", 3)],
    ids=["below", "far above", "beyond the grid", "no number", "inside"],
)
def test_a_tile_row_from_the_address_is_brought_into_the_grid(open_app, address, value):
    at = open_app(PAGE, row=address)
    assert not at.exception
    assert at.number_input(key="row").value == value


def test_a_tile_beyond_the_picture_is_told_with_the_tile_that_is_shown(open_app):
    at = open_app(PAGE, row="300", column="2")
    assert [one.value for one in at.warning] == [
        "Ignored from the link: `row=300` (row needs a whole number from 0 to 11 here, and 11 is shown)."
    ]
    assert not at.run().warning


def test_a_tile_row_moves_into_a_smaller_grid(open_app):
    at = open_app(PAGE, row="11")
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


@pytest.mark.parametrize(("recipe", "matmul"), one_in(3, GEMMS))
def test_the_stretches_in_the_card_add_up_to_the_product_of_the_quantized_operands(recipe, matmul):
    drawn = scene(recipe, matmul, "gaussian", 1, LAYER)
    values = {side: multiplied(drawn.operand(side), seed=1) for side in Side}
    a, b = (drawn.along_k(side, values[side], 3) for side in Side)
    parts = output_parts(drawn, 3, 3)
    assert len(parts) == rescales_per_output(drawn.mnk[2], *map(drawn.spec.extent, Side))
    assert sum(part.value for part in parts) == pytest.approx(float(a @ b), rel=1e-12, abs=1e-12)
    rough = 6 if any(operand.format.bits < 8 for operand in drawn.spec.quantized) else 3
    assert sum(part.value for part in parts) == pytest.approx(unquantized(drawn, 3, 3), abs=rough)


def multiplied(shown: DrawnOperand, seed: int) -> np.ndarray:
    """The numbers that a matmul multiplies, scales included, as the reference gives them."""
    if shown.operand is None:
        return shown.given.astype(FORMATS["bf16"].ml_dtype).astype(np.float64)
    if not shown.operand.spec.is_random:
        return quantize(shown.given, shown.operand).exact_values()
    bits = random_bits(shown.operand.stored(shown.given.shape), seed)
    bits = bits.T if shown.operand.k_is_rows else bits
    return quantize(shown.given, shown.operand, random=bits).exact_values()


def test_what_to_notice_differs_with_the_geometry():
    said = {case: notice(scene(*case, "gaussian", 0, LAYER)) for case in GEMMS.values()}
    assert all(len(one.split()) <= 25 and one.count("**") == 2 for one in said.values())
    assert "so its tiles run along *in*" in said["deepseek_v3", "fprop"]
    assert "rescaled **32 times**" in said["deepseek_v3", "fprop"]
    assert "**448 times**" in said["mxfp8", "dgrad"]
    assert "no scale changes on the way" in said["per_tensor", "wgrad"]
    assert "**once**" in said["rowwise", "wgrad"]
    assert "**no scale**" in said["rowwise_hp_wgrad", "wgrad"]


def test_second_copies_are_named_where_another_matmul_reads_other_tiles():
    assert "Wgrad needs x in tiles of 128 × 1, Fprop needs it in tiles of 1 × 128" in second_copies(
        scene("deepseek_v3", "wgrad", "gaussian", 0, LAYER)
    )
    assert second_copies(scene("per_tensor", "fprop", "gaussian", 0, LAYER)) == ""


def test_the_section_of_counts_is_now_that_of_copies(open_app):
    at = open_app(PAGE, show="counts", recipe="mxfp8")
    assert not at.exception
    assert not at.warning
    assert at.segmented_control(key="show").value == "copies"
    assert "scale bytes" in html(at)


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_recipes_fall_out_of_the_rule_as_presets(open_app, recipe):
    at = open_app(PAGE, show="rule", matmul="wgrad", recipe=recipe)
    at.button(key="rule_preset").click().run()
    assert not at.exception
    chosen = preset_of(RECIPES[recipe].wgrad)
    assert {key: at.selectbox(key=key).value for key in chosen} == chosen
    assert "The scales leave the sum." in words(at)


def test_a_scale_that_varies_inside_the_stretch_gives_a_wrong_number(open_app):
    at = open_app(PAGE, show="rule", a_k="32", summed="128")
    assert "The scale of A changes inside 4 of 4 stretches." in words(at)
    texts = ("1", "32", "128", "128", "128")
    _, found = rule_numbers(texts, MATMULS["fprop"], InputKind.OUTLIER_CHANNELS, 0, LAYER.in_)
    off = abs(found.pulled_out - found.right) / abs(found.right)
    assert off > 0.01
    assert f"wrong by **{percent_text(off)}**" in words(at)


def test_every_extent_of_the_rule_can_be_chosen(open_app):
    at = open_app(PAGE, show="rule")
    for key in ("a_m", "a_k", "b_n", "b_k", "summed"):
        for value in at.selectbox(key=key).options[:2] and ("1", "all") if key != "summed" else ("32", "all"):
            at.selectbox(key=key).set_value(value).run()
            assert not at.exception, (key, value)


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_the_sizes_of_copies_are_those_of_the_true_shape(recipe):
    table = copies_table(recipe, LAYER, LIGHT)
    for tensor in OPERANDS:
        for copy in recipe.quantized_copies(tensor):
            cost = copy_cost(copy, LAYER)
            assert f"{cost.scales:,}" in table
            assert bytes_text(cost.code_bytes) in table


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_the_notice_of_copies_has_the_bytes_of_the_second_ones(recipe):
    told = copies_notice(recipe, LAYER)
    assert len(told.split()) <= 25
    costs = [copy_cost(copy, LAYER) for t in OPERANDS for copy in recipe.quantized_copies(t)[1:]]
    second = sum(cost.code_bytes + cost.scale_bytes for cost in costs)
    assert (bytes_text(second) in told) == bool(costs)


def test_the_page_says_which_scales_a_tensor_core_applies_by_itself(open_app):
    for name, matmul in GEMMS.values():
        spec = RECIPES[name].spec(MATMULS[matmul])
        told, tiles = hardware(spec), {operand.tile for operand in spec.quantized}
        assert ("knows no scales" in told) == bool(spec.extents_along_k)
        assert ("bf16 numbers" in told) == (spec.quantized == ())
        kind = kind_of(spec)
        if spec.extents_along_k:
            assert ("applies them itself" in told) == isinstance(kind, NativeKind)
            assert (kind.value if isinstance(kind, NativeKind) else kind.reason) in told
            assert ("is repeated for each of its rows" in told) == (
                isinstance(kind, NativeKind) and tiles != {TileShape(1, NATIVE[kind].tile_k)}
            )
    assert "at least once every 128 k" in hardware(RECIPES["deepseek_v3"].spec(MATMULS["wgrad"]))
    assert "applies them itself" in words(open_app(PAGE, recipe="mxfp8"))
    told = words(open_app(PAGE, show="copies"))
    assert "**On Hopper**, the FP8 tensor core (wgmma)" in told
    assert "FP8 operands may lie either way" in told


def test_the_classic_copies_are_on_the_page(open_app):
    at = open_app(PAGE, show="copies")
    assert "Two matmuls sum x and dy along different dims: two copies each." in words(at)
    assert "w: 1 quantized copy;" in at.get("vega_lite_chart")[0].proto.alt
    assert RECIPES["deepseek_v3"].copies(LayerTensor.W) == 1


def test_controls_keep_their_values_when_pages_are_switched(open_app):
    at = open_app(PAGE, recipe="rowwise", row="9", show="picture", tokens="2048", a_k="16")
    at.switch_page("pages/live_gemm.py").run()
    at.switch_page(PAGE).run()
    assert not at.exception
    assert recipe_list(at).value == "rowwise"
    assert at.number_input(key="row").value == 9
    assert at.number_input(key="tokens").value == 2048


@pytest.mark.parametrize("part", range(6))
def test_hostile_addresses_give_a_page(open_app, part):
    at = open_app(PAGE)
    sections, recipes = list(SHOW.options), list(RECIPES)
    for number, query in enumerate(hostile_queries([c.key for c in ALL_CONTROLS], A_PAGE)[part::6]):
        if number % 4:  # the rest of such an address reaches every section
            query |= {"show": sections[number % len(sections)], "recipe": recipes[number // 5 % 5]}
        at.query_params.clear()
        for key, value in query.items():
            at.query_params[key] = value
        at.run()
        assert not at.exception, query
        assert at.title[0].value == "Which elements share one scale?"


@pytest.mark.parametrize(("recipe", "section", "size_"), crossed(SHOWN, ("1", "3", "129", "131072"), every=4))
def test_layers_of_any_size_draw(open_app, recipe, section, size_):
    sizes = {"tokens": size_, "in": size_, "out": size_}
    at = open_app(PAGE, recipe=recipe, show=section, matmul="wgrad", **sizes)
    assert not at.exception


def test_the_picture_says_what_people_call_its_granularity(open_app):
    at = open_app("pages/tile_layouts.py", recipe="mxfp8")
    told = "x is group-wise, scales in E8M0, or ue8m0; w is group-wise, scales in E8M0, or ue8m0"
    assert told in words(at)
