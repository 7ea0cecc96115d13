"""A recipe has one color and one shape, which stand out from both grounds."""

import tomllib
from itertools import combinations

import pytest

from fp8core.recipes import RECIPES
from kernels.paths import TOP
from pages.kit.charts.ink import INKS
from pages.kit.charts.recipe_marks import BF16, mark_of
from tests.contrast import contrast

# The least contrast of a graphic with its ground. Source: WCAG 2.2, 1.4.11
GRAPHIC = 3.0


@pytest.mark.parametrize("theme", INKS)
def test_marks_stand_out_from_the_page(theme):
    marks = {name: mark_of(name) for name in RECIPES} | {"bf16": BF16}
    assert {name: m.color for name, m in marks.items() if contrast(m.color, INKS[theme].page) < GRAPHIC} == {}


def test_no_two_recipes_have_one_mark():
    for one, other in combinations(RECIPES, 2):
        a, b = mark_of(one), mark_of(other)
        assert (a.color, a.shape) != (b.color, b.shape), (one, other)
        assert (a.color, a.dash) != (b.color, b.dash), (one, other)


@pytest.mark.parametrize("theme", INKS)
def test_the_ink_of_charts_is_the_theme_s(theme):
    page = tomllib.loads((TOP / ".streamlit/config.toml").read_text(encoding="utf-8"))["theme"][theme]
    ink = INKS[theme]
    assert (page["backgroundColor"], page["secondaryBackgroundColor"], page["textColor"]) == (
        ink.page,
        ink.panel,
        ink.text,
    )
    assert page["borderColor"] == ink.hair
    assert set(ink.ramp) <= set(page["chartSequentialColors"])
