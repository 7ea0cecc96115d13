"""Contract: every recipe, matmul and section of "Tile layouts" draws, from any address, and quickly."""

from random import Random

import pytest

from fp8core.inputs import InputKind
from fp8core.linear import MATMULS, LayerShape, Side
from fp8core.recipes import RECIPES
from pages.kit.charts.words import percent_text
from pages.tile_layouts.charts.scene import matmul_scene
from pages.tile_layouts.facts import SHOW
from pages.tile_layouts.matmul import cases, contraction, off_words, wrong_notice
from pages.tile_layouts.rule import rule_numbers
from tests.sweeps import some_pairs

PAGE = "pages/tile_layouts.py"
LAYER = LayerShape(4096, 4096, 14336)
SIZES = ("", "1", "3", "129", "131072")
"""Sizes of the layer; "" is the page's own."""
GEMMS = {f"{recipe}-{matmul}": (recipe, matmul) for recipe in RECIPES for matmul in MATMULS}


def html(at) -> str:
    return " ".join(element.proto.body for element in at.get("html"))


def words(at) -> str:
    return " ".join(element.value for element in at.markdown)


@pytest.mark.parametrize(("recipe", "matmul", "section"), some_pairs(GEMMS, SHOW.options, every=5))
def test_every_section_draws_for_every_recipe_matmul_and_size(open_app, recipe, matmul, section):
    size = Random(f"{recipe} {matmul} {section}").choice(SIZES)
    sizes = dict.fromkeys(("tokens", "in", "out"), size) if size else {}
    at = open_app(PAGE, recipe=recipe, matmul=matmul, show=section, **sizes)
    assert not at.exception
    assert at.title[0].value == "Which elements share one scale?"
    assert len(at.get("vega_lite_chart")) == (section not in ("picture", "row"))
    if section in ("picture", "row", "copies"):
        assert any(RECIPES[recipe].source in caption.value for caption in at.caption)


@pytest.mark.parametrize(("address", "value"), [("300", 11), ("3", 3)])
def test_a_row_is_brought_into_the_operand(open_app, address, value):
    at = open_app(PAGE, row=address)
    assert not at.exception
    assert at.number_input(key="row").value == value
    assert bool(at.warning) == (address != str(value))
    assert f"x[{value}, 384:512]" in html(at), "the last of what is summed"


def test_fields_choose_the_tile_whose_numbers_stand_below(open_app):
    at = open_app(PAGE, row="7", column="200", stretch="3")
    assert "x[7, 256:384]" in html(at)
    at.number_input(key="stretch").set_value(4).run()
    assert "x[7, 384:512]" in html(at)
    scene = matmul_scene(RECIPES["deepseek_v3"], MATMULS["fprop"], "outlier_channels", 0, LAYER)
    assert f"{scene.tile(Side.A, 7, 3).scale:.4g}" in html(at)
    at.segmented_control(key="side").set_value("B").run()
    assert "w[128:256, 384:512]" in html(at)


def test_turned_tiles_of_a_make_the_sum_wrong_and_the_notice_says_how(open_app):
    at = open_app(PAGE, matmul="wgrad", row="3", column="5", turn="4")
    own, *_, last = cases(RECIPES["deepseek_v3"], MATMULS["wgrad"], "outlier_channels", 0, LAYER)
    numbers = contraction(last, own.spec, 3, 5)
    assert f"D[3, 5] **{off_words(numbers.pulled_out, numbers.right)}**" in words(at)
    at.number_input(key="turn").set_value(0).run()
    assert "Each element of D is rescaled" in words(at)


@pytest.mark.parametrize(("recipe", "matmul"), GEMMS.values(), ids=GEMMS)
def test_a_notice_of_turned_tiles_is_short(recipe, matmul):
    own, *turned = cases(RECIPES[recipe], MATMULS[matmul], "outlier_channels", 0, LAYER)
    notices = [wrong_notice(scene, own.spec, 5, 3) for scene in turned]
    assert all(len(one.split()) <= 25 and one.count("**") == 2 for one in notices)


def test_a_scale_that_varies_inside_the_stretch_gives_a_wrong_number(open_app):
    at = open_app(PAGE, show="rule", a_k="32", summed="128")
    assert "The scale of A changes inside 4 of 4 stretches." in words(at)
    texts = ("1", "32", "128", "128", "128")
    _, numbers = rule_numbers(texts, MATMULS["fprop"], InputKind.OUTLIER_CHANNELS, 0, LAYER.in_)
    off = abs(numbers.pulled_out - numbers.right) / abs(numbers.right)
    assert off > 0.01
    assert f"wrong by **{percent_text(off)}**" in words(at)
