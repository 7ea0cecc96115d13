"""Contract: "Outliers" draws every section from every address; its figures are those of the experiments."""

import random
import re
from itertools import pairwise

import numpy as np
import pytest

from fp8core.experiments.error_curves import sqnr_of
from fp8core.experiments.operand_error import operand_error
from fp8core.experiments.read_back import as_bf16, read_back
from fp8core.inputs import OFFERED, OUTLIER_FACTOR, InputKind, draw
from fp8core.recipes import RECIPES
from pages.outliers.controls import MORE, MOST, ROLE, SHOW, UPLOAD
from pages.outliers.data import FACTOR, operand_of_key, source_of
from pages.outliers.subject import db, percent
from tests.fp8core.random_recipes import own_text
from tests.pages.outliers.hostile_files import npy
from tests.pages.texts import notice, texts

PAGE = "pages/outliers.py"
SMALL = "256x512"
EVERY = [*(section for section in SHOW.options if section != "more"), *MORE.options]


pytestmark = pytest.mark.usefixtures("stand_in_workers")


def address(section: str) -> dict[str, str]:
    """The address of a section, or of a question of "More"."""
    return (
        {"outliers_show": "more", "outliers_more": section}
        if section in MORE.options
        else {"outliers_show": section}
    )


def rows(at, head: str) -> list[list[str]]:
    """The rows of the table whose head begins so."""
    table = next(e.value for e in at.markdown if e.value.startswith(f"| {head}"))
    lines = [line for line in table.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def number(text: str) -> float:
    return float(text.strip("*").replace(",", "").replace("−", "-").split("\xa0")[0])


@pytest.mark.parametrize("section", EVERY)
def test_every_section_draws_and_says_what_to_notice(open_app, section):
    at = open_app(PAGE, **address(section), outliers_size=SMALL)
    assert not at.exception
    assert at.title[0].value == "Which recipe survives outliers?"
    assert notice(at).count("**") == 2, "one bold figure"
    assert len(notice(at).split()) <= 25
    assert len(at.get("vega_lite_chart")) == 1
    assert any("arXiv 2402.17762" in caption.value for caption in at.caption)


@pytest.mark.parametrize("section", ["map", "parts", "matmuls"])
def test_every_recipe_is_shown_in_every_role(open_app, section):
    names = list(RECIPES)
    random.Random(section).shuffle(names)
    roles = list(ROLE.options) * 4
    for at in range(0, len(names), MOST):
        chosen, role = names[at : at + MOST], roles[at // MOST]
        app = open_app(PAGE, **address(section), recipes=",".join(chosen), role=role, outliers_size=SMALL)
        assert not app.exception, (chosen, role, app.exception[0].value)
        assert not app.error
        for name in chosen:
            is_drawn = section != "map" or operand_of_key(name, role) is not None
            assert not is_drawn or RECIPES[name].title in texts(app), (section, name)
            if section == "parts" and operand_of_key(name, role) is None:
                assert "stays bf16" in texts(app)


@pytest.mark.parametrize("kind", [InputKind.GRADIENT_LIKE, OFFERED[-1]])
def test_the_parts_add_up_and_are_those_of_the_experiment(open_app, kind):
    chosen = random.Random(kind.value).sample(list(RECIPES), 3)
    at = open_app(
        PAGE, **address("parts"), recipes=",".join(chosen), role="wgrad_b", outliers_data=kind.value,
        outliers_size=SMALL,
    )  # fmt: skip
    assert not at.exception
    there = [name for name in chosen if operand_of_key(name, "wgrad_b") is not None]
    x = source_of(kind.value, "wgrad_b", (256, 512), 0, OUTLIER_FACTOR).numbers()
    for column, name in enumerate(there, 1):
        error = operand_error(read_back(x, operand_of_key(name, "wgrad_b"), 0))
        lines = [(line[0], number(line[column])) for line in rows(at, " |")]
        heads = [at for at, (head, _) in enumerate(lines) if not head.startswith("·")]
        assert len(heads) == 4, "three splits, and α"
        for head, next_head in pairwise(heads):
            assert lines[head][1] == round(1e6 * error.total, 1)
            parts = sum(value for _, value in lines[head + 1 : next_head])
            assert parts == pytest.approx(lines[head][1], abs=0.4), name
        log = next(line for line in rows(at, "recipe") if line[0] == RECIPES[name].title)
        assert number(log[1]) == pytest.approx(error.logged.underflows, rel=0.01, abs=1e-9)
        assert number(log[3]) == pytest.approx(error.logged.mse, rel=0.01)


def test_the_small_channels_are_those_beside_the_outliers(open_app):
    at = open_app(PAGE, outliers_show="lines", recipes="mxfp4,per_tensor_e4m3")
    x = source_of("outlier_channels", "fprop_a", (512, 1024), 0, OUTLIER_FACTOR).numbers()
    channels = operand_error(read_back(x, operand_of_key("mxfp4", "fprop_a"))).channels
    large = channels.outliers(FACTOR)
    small = channels.rel_err[~large]
    line = rows(at, "recipe")[0]
    assert line[2:4] == [percent(float(np.median(small))), percent(float(small.max()))]
    assert f"{large.sum()} channels of 1,024" in texts(at)


def test_too_many_recipes_are_refused_in_a_sentence(open_app):
    at = open_app(PAGE, recipes=",".join(list(RECIPES)[: MOST + 1]))
    assert not at.exception
    assert "from 1 to 4 of" in at.warning[0].value
    assert len(at.multiselect(key="recipes").value) == MOST


def choose(at, section: str) -> None:
    """Choose a section, or a question of "More"."""
    at.segmented_control(key="outliers_show").set_value(address(section)["outliers_show"]).run()
    if section in MORE.options:
        at.selectbox(key="outliers_more").set_value(section).run()


def test_an_uploaded_matrix_takes_the_place_of_the_numbers(open_app):
    x = np.stack([draw(InputKind.HEAVY_TAIL, (64, 96), seed) for seed in range(3)])
    at = open_app(PAGE, outliers_data=UPLOAD, recipes="mxfp8", outliers_size=SMALL)
    assert "Upload a matrix" in at.info[0].value
    at.file_uploader[0].set_value(("a *b*.npy", npy(x), "application/octet-stream")).run()
    at.number_input(key="matrix").set_value(2).run()
    assert not at.exception
    assert not at.info
    assert f"MXFP8 {db(sqnr_of(as_bf16(x[2]), operand_of_key('mxfp8', 'fprop_a')))}" in texts(at)


def test_numbers_that_every_recipe_holds_lose_nothing_in_any_section(open_app):
    ones = np.where(np.arange(64 * 96).reshape(64, 96) % 3, 1.0, -1.0).astype(np.float32)
    at = open_app(PAGE, outliers_data=UPLOAD, recipes="mxfp8,deepseek_v3,mxint8,per_tensor")
    at.file_uploader[0].set_value(("ones.npy", npy(ones), "application/octet-stream")).run()
    for section in EVERY:
        choose(at, section)
        assert not at.exception, (section, at.exception[0].value)
        assert not at.error, (section, at.error[0].value)
        assert notice(at)
        assert "nan" not in texts(at).lower().replace("tenant", "")


@pytest.mark.parametrize("section", ["lines", "matmuls", "readers"])
def test_the_readers_own_recipe_stands_beside_the_published_ones(open_app, section):
    line = own_text(RECIPES["nvfp4"])
    at = open_app(PAGE, **address(section), recipes="own,nvfp4", own=line, outliers_size=SMALL)
    assert not at.exception
    assert "NVFP4" in next(e.value for e in at.markdown if e.value.startswith("| ") and "Yours" in e.value)


def test_an_own_recipe_that_cannot_be_read_is_told_and_left_out(open_app):
    at = open_app(PAGE, recipes="own,mxfp8", own="**no** recipe")
    assert not at.exception
    assert "cannot be read" in at.warning[0].value
    assert "MXFP8 3" in texts(at)


def test_larger_outliers_cost_the_numbers_beside_them_more(open_app):
    assert "become 0 under MXFP4" in notice(open_app(PAGE))
    for section in ("map", "lines"):
        few, many = (open_app(PAGE, **address(section), outliers_factor=factor) for factor in ("5", "500"))
        share = [float(re.search(r"\*\*\D*([\d.]+)%", notice(at))[1]) for at in (few, many)]
        assert share[0] < share[1]
