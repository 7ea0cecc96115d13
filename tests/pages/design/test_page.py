"""Page "Design a recipe": each field writes the address's line, nothing is lost, bad lines get a sentence."""

import json
import random
from functools import reduce
from operator import getitem
from types import SimpleNamespace

import pytest

from fp8core.linear import MATMULS, Side
from fp8core.recipes import RECIPES
from fp8core.recipes.text import from_text, to_json
from pages.design.derived import facts, runs
from pages.design.draft import CELL_KEYS, draft_of
from pages.design.recipe import FIELD_KEY, FIELDS, load
from pages.design.sketch import YOURS
from pages.design.sketch import notice as notice_of
from pages.kit.address import RUN_KEY
from pages.kit.computing import compute
from tests.fp8core.random_recipes import own_text, random_recipe
from tests.pages.texts import notice

PAGE = "pages/design.py"


def field(at, cell, key):
    return at.selectbox(key=f"{FIELD_KEY} {cell} {key}")


def said(at) -> str:
    return " ".join(box.value for box in (*at.warning, *at.error))


def own(at) -> str:
    """The line in the address."""
    return at.query_params.get("own", "")


@pytest.fixture
def hasty(monkeypatch) -> None:
    """The page does not wait for errors: they come later."""
    monkeypatch.setattr(compute, "PATIENCE_S", 0.0)


def test_a_published_recipe_fills_the_six_operands(open_app, hasty) -> None:
    at = open_app(PAGE)
    for name in ("per_tensor_delayed", "nvfp4", "mxfp4_train", "deepseek_v3_pow2"):
        recipe = RECIPES[name]
        at.selectbox(key="design_from").set_value(name).run()
        assert not at.exception
        assert said(at) == ""
        assert own(at) == ""
        operand = recipe.fprop.a
        assert field(at, "fprop_a", "").value == ("bf16" if operand is None else "quantized")
        if operand is not None:
            assert field(at, "fprop_a", "format").value == operand.format.name


def test_the_page_opens_with_a_published_recipe_whose_scales_leave_every_sum(open_app) -> None:
    at = open_app(PAGE)
    assert "as published" in notice(at)
    draft = draft_of(own(at), at.selectbox(key="design_from").value)
    assert all(one.verdict.holds for one in facts(draft.line).matmuls.values())


def test_a_kernel_that_sums_otherwise_than_the_recipe_says_so_wherever_it_stands(open_app, hasty) -> None:
    line = draft_of("", "deepseek_v3").with_value(("fprop", "a", "tile", "k"), 64)
    at = open_app(PAGE, own=line, design_from="deepseek_v3", design_show="runs")
    tables = " ".join(one.proto.body for one in at.get("html"))
    assert "Fprop in sums of 64, Dgrad, Wgrad" in tables
    assert "✓ in sums of 64" in tables


@pytest.mark.parametrize(
    ("show", "words"),
    [
        ("error", "our largest error"),
        ("knobs", "back"),
        ("runs", "mxf4"),
        ("cost", "bits"),
        ("text", "from_text"),
    ],
)
def test_the_other_sections_draw(open_app, show, words) -> None:
    at = open_app(PAGE, own=own_text(RECIPES["mxfp4"]), design_show=show)
    assert not at.exception
    assert said(at) == ""
    assert words in " ".join(one.value for one in (*at.markdown, *at.code))


def test_who_can_run_it_is_a_table_of_the_answers(open_app) -> None:
    at = open_app(PAGE, design_from="mxfp4", design_show="runs")
    tables = " ".join(one.proto.body for one in at.get("html"))
    answers = [one.can for every in runs(draft_of("", "mxfp4").line).values() for one in every]
    assert 0 < answers.count(True) < len(answers)
    assert (tables.count("✓"), tables.count("✗ no")) == (answers.count(True), answers.count(False))


def test_the_notice_names_the_matmul_whose_formats_no_unit_multiplies() -> None:
    draft = draft_of("", "mxfp4")
    lines = {YOURS: draft.with_value(("fprop", "accumulator"), "hopper_fast"), "MXFP4": draft.line}
    words = notice_of(lines, "MXFP4", {})
    assert words.startswith("Yours takes **4.25 bits** per element, MXFP4 4.25.")
    assert "no unit multiplies Fprop" in words


def test_a_field_writes_its_part_of_the_line_and_no_other(open_app, hasty) -> None:
    at = open_app(PAGE, design_from="mxfp8")
    field(at, "fprop_a", "format").set_value("e2m1").run()
    recipe = from_text(own(at))
    assert recipe.fprop.a.format.name == "e2m1"
    assert (recipe.fprop.b, recipe.dgrad, recipe.wgrad) == (
        RECIPES["mxfp8"].fprop.b,
        RECIPES["mxfp8"].dgrad,
        RECIPES["mxfp8"].wgrad,
    )
    field(at, "fprop_a", "format").set_value("e4m3").run()
    assert own(at) == "", "what it began with needs no line"


def test_a_list_that_the_browser_reports_late_does_not_undo_a_pull(open_app, hasty) -> None:
    at = open_app(PAGE, design_from="mxfp8")
    at.session_state["own"] = draft_of("", "mxfp8").with_value(("fprop", "a", "tile", "k"), 128)
    at.run()
    assert field(at, "fprop_a", "tile.k").value == "128"
    at.text_input(key=RUN_KEY).set_value("1")
    field(at, "fprop_a", "tile.k").set_value("32")
    field(at, "fprop_a", "format").set_value("e2m1").run()
    operand = from_text(own(at)).fprop.a
    assert (operand.tile.k, operand.format.name) == (128, "e2m1")


def test_random_edits_are_in_the_address_and_open_the_same_page(open_app, hasty) -> None:
    chance = random.Random(22)
    at = open_app(PAGE, design_from="nvfp4")
    for _ in range(8):
        cell = chance.choice(list(CELL_KEYS))
        at.segmented_control(key="design_cell").set_value(cell).run()
        key = chance.choice(["format", "tile.mn", "tile.k", "scale.fit", "rounding", "scale.search"])
        box = field(at, cell, key)
        value = chance.choice(box.options)
        box.set_value(value).run()
        assert not at.exception
        assert field(at, cell, key).value == value
    again = open_app(PAGE, **dict(at.query_params))
    assert draft_of(own(again), "nvfp4") == draft_of(own(at), "nvfp4")
    assert [box.value for box in again.selectbox] == [box.value for box in at.selectbox]


def test_choices_that_exclude_each_other_get_a_sentence_and_nothing_is_lost(open_app, hasty) -> None:
    at = open_app(PAGE, design_from="mxfp8")
    field(at, "fprop_a", "rotation").set_value("Hadamard 16").run()
    assert not at.exception
    assert "Fprop\\: a rotation cancels where both operands have it" in said(at)
    assert field(at, "fprop_a", "rotation").value == "Hadamard 16"
    at.segmented_control(key="design_cell").set_value("fprop_b").run()
    field(at, "fprop_b", "rotation").set_value("Hadamard 16").run()
    assert said(at) == ""
    assert from_text(own(at)).fprop.a.rotation == from_text(own(at)).fprop.b.rotation


@pytest.mark.parametrize(
    "line", ["nonsense", "e9m9.1.32.e8m0.floor~aa.hopper_bf16.bf16~aa.x.y~aa.x.y", "a" * 5000]
)
def test_a_bad_line_gets_a_sentence_and_the_page_goes_on(open_app, hasty, line) -> None:
    at = open_app(PAGE, own=line, design_from="mxfp4")
    assert not at.exception
    assert said(at)
    assert field(at, "fprop_a", "format").value == "e2m1"


def test_bf16_and_back_and_one_operand_for_all(open_app, hasty) -> None:
    at = open_app(PAGE, design_from="rowwise_hp_wgrad", design_cell="wgrad_a")
    assert field(at, "wgrad_a", "").value == "bf16"
    field(at, "wgrad_a", "").set_value("quantized").run()
    assert from_text(own(at)).wgrad.a is not None
    take, back = (next(b for b in at.button if words in b.label) for words in ("all six", "All back"))
    take.click().run()
    recipe = from_text(own(at))
    operands = {recipe.spec(matmul).operand(side) for matmul in MATMULS.values() for side in Side}
    assert operands == {recipe.wgrad.a}
    back.click().run()
    assert own(at) == ""


def test_the_knobs_are_the_choices_that_differ(open_app) -> None:
    at = open_app(PAGE, design_from="mxfp8", design_show="error")
    assert any("No operand differs" in one.value for one in at.markdown)
    (chart,) = at.get("vega_lite_chart")
    assert "back" not in chart.proto.alt
    draft = draft_of("", "mxfp8").with_value(("fprop", "a", "format"), "e2m1")
    at = open_app(PAGE, design_from="mxfp8", design_show="error", own=draft)
    (chart,) = at.get("vega_lite_chart")
    assert "format back, Fprop x" in chart.proto.alt
    assert "Yours" in chart.proto.alt
    assert "“format back, Fprop x” changes your largest error most" in at.markdown[0].value


def test_an_unusual_value_of_a_file_is_among_the_offers() -> None:
    chance = random.Random(1)
    for _ in range(60):
        data = json.loads(to_json(random_recipe(chance)))
        for matmul in MATMULS:
            for side in "ab":
                operand = data[matmul][side]
                for one in FIELDS if operand else ():
                    value = reduce(getitem, one.path, operand)
                    offers = one.options(value)
                    assert value in offers.values()
                    assert len(offers) - len(one.offers) == (value not in one.offers.values())


def test_a_file_is_loaded_whole_and_a_refused_one_changes_nothing() -> None:
    chance = random.Random(9)
    for _ in range(40):
        recipe, lines = random_recipe(chance), list[str]()
        page = SimpleNamespace(value=lambda _: "mxfp8", preset=lambda own, lines=lines: lines.append(own))
        assert load(page, to_json(recipe).encode()) == ""
        assert [from_text(line) for line in lines] == [recipe]
        data = json.loads(to_json(recipe))
        data["fprop"]["accumulator"], data["wgrad"]["out"] = "abacus", None
        reason = load(page, json.dumps(data).encode())
        assert "fprop.accumulator" in reason
        assert "wgrad.out" in reason
        assert len(lines) == 1
