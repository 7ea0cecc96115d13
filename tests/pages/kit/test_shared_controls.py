"""Contract: a recipe is chosen from one list; the reader's own comes from the address, or a sentence does.

A format that is entered in the registry is offered by every control that its kind of number fits.
"""

import runpy
from dataclasses import replace

import pytest

from fp8core.accumulators import ACCUMULATORS
from fp8core.formats import FORMATS
from fp8core.recipes import RECIPES
from pages.kit.shared_controls import RECIPE, by_family
from pages.kit.widgets import Control
from tests.fp8core.random_recipes import own_text
from tests.pages.conftest import TOP
from tests.pages.recipe_chooser import recipe_list

NEW = "e3m4_new"
CALL = "format_options("
FILES = [
    path
    for path in sorted((TOP / "pages").glob("*/*.py"))
    if path.parent.name != "kit" and CALL in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_new_format_is_on_every_page(path, monkeypatch):
    monkeypatch.setitem(FORMATS, NEW, replace(FORMATS["e3m4_ieee"], name=NEW))
    unit = ACCUMULATORS["blackwell_fp8"]
    monkeypatch.setitem(ACCUMULATORS, unit.name, replace(unit, operands=(*unit.operands, NEW)))
    controls = [one for one in runpy.run_path(str(path)).values() if isinstance(one, Control)]
    offers = [one.key for one in controls if NEW in getattr(one, "options", ())]
    assert len(FILES) >= 5
    assert len(offers) >= path.read_text(encoding="utf-8").count(CALL)


def warnings(at) -> str:
    return " ".join(one.value for one in at.warning)


def test_the_list_has_every_recipe_by_family_and_the_reader_s_own_last():
    assert [recipe.name for recipes in by_family().values() for recipe in recipes] == list(RECIPES)
    assert list(RECIPE.options) == [*RECIPES, "own"]


@pytest.mark.parametrize("page", ["pages/live_gemm.py", "pages/tile_layouts.py", "pages/benchmarks.py"])
def test_the_reader_s_own_recipe_comes_from_the_address(open_app, page):
    line = own_text(RECIPES["nvfp4"])
    at = open_app(page, recipe="own", own=line)
    assert not at.exception
    assert not warnings(at)
    assert recipe_list(at).value == "own"
    assert at.query_params["own"] == line


@pytest.mark.parametrize(
    ("page", "line", "part"),
    [
        ("pages/live_gemm.py", "", "You have no recipe of your own"),
        ("pages/tile_layouts.py", "<b>**x**</b> :red[y]", "cannot be read"),
        ("pages/benchmarks.py", "<b>**x**</b> :red[y]", "cannot be read"),
    ],
)
def test_a_line_that_is_missing_or_wrong_is_told_and_the_default_shown(open_app, page, line, part):
    at = open_app(page, recipe="own", **({"own": line} if line else {}))
    assert not at.exception
    assert part in warnings(at)
    assert RECIPES[RECIPE.default].title in warnings(at)
    assert "<b>" not in warnings(at)
