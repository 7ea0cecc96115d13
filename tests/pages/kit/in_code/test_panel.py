"""Contract: below every page, closed at first, the calls that do what it shows; they follow its recipe."""

import hashlib
import tomllib
from dataclasses import replace

import pytest

from fp8core.recipes import RECIPES, Family
from fp8core.recipes.text import to_text
from pages.kit.in_code.panel import TITLE, recipe_on_screen, recipe_texts, recipes_on_screen
from pages.kit.in_code.texts import PUBLISHED, checked_words, page_texts
from pages.kit.inert import plain
from tests.pages.recipe_chooser import choose_recipe


def in_code(at):
    (expander,) = [one for one in at.expander if one.label == TITLE]
    return expander


def test_a_page_with_a_recipe_follows_it(open_app) -> None:
    at = open_app("pages/tile_layouts.py", recipe="mxfp8")
    part = in_code(at)
    assert not part.proto.expanded
    assert [tab.label for tab in part.tabs] == ["torchao", "Transformer Engine", "This project"]
    assert "MXFP8BlockScaling" in part.tabs[1].code[0].value
    assert plain(checked_words("torchao")) in part.tabs[0].caption[0].value
    assert 'RECIPES["mxfp8"]' in part.tabs[2].code[0].value
    assert 'convert_to_float8_training(model, recipe="mxfp8"' in part.tabs[2].code[-1].value
    choose_recipe(at, "mxfp8_floor")
    part = in_code(at)
    assert "ScaleCalculationMode.FLOOR" in part.tabs[0].code[0].value
    assert not part.tabs[1].code
    assert "cannot express it" in part.tabs[1].markdown[0].value


def test_a_page_with_several_recipes_has_a_table_of_their_calls(open_app) -> None:
    at = open_app("pages/compare_recipes.py", differ_recipes="mxfp8,rowwise")
    ours, theirs = in_code(at).tabs
    assert (
        "MXFP8TrainingOpConfig(scale_calculation_mode=ScaleCalculationMode.RCEIL)" in ours.markdown[0].value
    )
    assert "| MXFP8 | `MXFP8BlockScaling(fp8_format=Format.E4M3)` |" in theirs.markdown[0].value
    assert "| Per row | Transformer Engine cannot express it" in theirs.markdown[0].value
    assert plain(checked_words("torchao")) in ours.caption[0].value


def test_a_page_without_a_recipe_has_the_texts_of_its_folder(open_app) -> None:
    at = open_app("pages/stochastic_rounding.py")
    part = in_code(at)
    libraries = {text.library for text in page_texts()["stochastic_rounding"].texts}
    assert {tab.label for tab in part.tabs} == libraries


@pytest.mark.parametrize("line", ["", "**no** recipe", "x" * 300])
def test_a_recipe_that_cannot_be_read_leaves_another_or_none(line) -> None:
    state = {"recipe": "own", "own": line, "design_from": "nvfp4"}
    assert recipe_on_screen("tile_layouts", state) == RECIPES["deepseek_v3"]
    assert recipe_on_screen("design", state) in (RECIPES["nvfp4"], None)


def test_the_readers_own_recipe_is_the_one_on_the_screen() -> None:
    own = {"recipe": "own", "own": to_text(RECIPES["nvfp4"])}
    for page in ("tile_layouts", "design"):
        assert recipe_on_screen(page, own).fprop == RECIPES["nvfp4"].fprop
    texts = recipe_texts(recipe_on_screen("design", own))
    assert {text.library for text in texts} == {"This project"}
    assert "from_text(" in texts[0].code


def test_a_family_takes_the_place_of_the_chosen_recipes() -> None:
    texts = page_texts()["compare_recipes"]
    state = {"differ_recipes": ["mxfp8"], "differ_family": "chosen"}
    assert recipes_on_screen(texts, state) == ("mxfp8",)
    family = recipes_on_screen(texts, state | {"differ_family": "two_level"})
    assert "nvfp4" in family
    assert "mxfp8" not in family


def test_every_text_is_there_or_has_a_reason() -> None:
    for page, texts in page_texts().items():
        assert texts.texts or texts.follows_recipe or texts.recipes_key, page
        assert all((text.code is None) == bool(text.why) for text in texts.texts), page
    for recipe in RECIPES.values():
        assert all((text.code is None) == bool(text.why) for text in recipe_texts(recipe))


def test_the_texts_of_a_recipe_are_those_of_its_data() -> None:
    """If a recipe changes, look at its texts again, and then write its digest."""
    entries = tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))
    words = {"name": "own", "title": "", "family": Family.OWN, "source": "", "remark": ""}
    lines = {name: to_text(replace(RECIPES[name], **words)) for name in entries}
    digests = {name: hashlib.sha256(line.encode()).hexdigest()[:12] for name, line in lines.items()}
    assert {name: entry["of"] for name, entry in entries.items()} == digests
