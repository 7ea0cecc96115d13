"""Contract: "Accumulation" draws from every address; its figures are those of the models and the vectors."""

import json
import re

import pytest

from fp8core.accumulators import ACCUMULATORS, matmul
from fp8core.experiments.dot_terms import TermKind, draw_terms
from fp8core.formats import FORMATS
from pages.accumulation.charts.curves import LINES
from pages.accumulation.charts.steps import SUMS
from pages.accumulation.controls import K_STEPPED, OPERANDS, SHOW, TERMS, UNIT
from pages.accumulation.words import apart, percent
from pages.kit.charts.words import short
from tests.pages.specs import sent_dataset
from tests.pages.texts import notice, texts

PAGE = "pages/accumulation.py"
TITLE = "Where do the small terms go?"
FAST = ACCUMULATORS["hopper_fast"]


@pytest.fixture(autouse=True)
def workers(stand_in_workers):
    return stand_in_workers


def spec(at) -> dict:
    return json.loads(at.get("vega_lite_chart")[0].proto.spec)


def result(unit, terms: str, operands: str, k: int, seed: int = 0) -> tuple[float, float]:
    """The unit's sum and the exact one, by matmul and by fp64."""
    format_ = FORMATS[operands]
    a, b = (format_.encode(x) for x in draw_terms(TermKind(terms), (1, 1), k, seed))
    exact = format_.decode(a) @ format_.decode(b).T
    return float(matmul(a, b, format_, format_, unit)[0, 0]), float(exact[0, 0])


@pytest.mark.parametrize("section", SHOW.options)
def test_every_section_draws_and_names_its_sources(open_app, section):
    at = open_app(PAGE, sum_show=section)
    assert not at.exception
    assert at.title[0].value == TITLE
    assert any("arXiv 2511.10909" in caption.value for caption in at.caption)
    assert len(at.get("vega_lite_chart")) == 1
    assert len(notice(at).split()) <= 25


@pytest.mark.parametrize("terms", TERMS.options)
@pytest.mark.parametrize("unit", UNIT.options)
def test_every_unit_and_kind_of_numbers_says_what_matmul_gives(open_app, unit, terms):
    at = open_app(PAGE, unit=unit, terms=terms)
    assert not at.exception
    operands = at.selectbox(key="operands").value
    assert operands in ACCUMULATORS[unit].operands
    got, exact = result(ACCUMULATORS[unit], terms, operands, 256)
    said = texts(at)
    there, truth = apart(got, exact)
    assert f"has {there}; the exact sum is {truth}" in said
    if got == exact:
        assert "nothing is lost in the end" in said
    else:
        assert f"off by {percent(abs(got - exact) / abs(exact))}" in said
        assert (", toward zero. Storing" in said) == ((got - exact) * exact < 0)


def test_the_picture_s_figures_are_those_of_each_prefix(open_app):
    at = open_app(PAGE, terms="one_large")
    sent = sent_dataset(at.get("vega_lite_chart")[0], SUMS)
    assert sent["step"] == list(range(1, 9))
    format_ = FORMATS["e4m3"]
    a, b = (format_.encode(x) for x in draw_terms(TermKind.ONE_LARGE, (1, 1), 256, 0))
    for step, total, off in zip(sent["step"], sent["total"], sent["off"], strict=True):
        k = 32 * step
        got = matmul(a[:, :k], b[:, :k], format_, format_, FAST)[0, 0]
        exact = (format_.decode(a[:, :k]) @ format_.decode(b[:, :k]).T)[0, 0]
        assert total == short(float(got), 6)
        assert off == short(float(got) - float(exact), 3)


def slider_at(at):
    (slider,) = [param for param in spec(at)["params"] if "bind" in param]
    return slider["value"][0]["at"]


@pytest.mark.parametrize("k", K_STEPPED.options)
def test_k_decides_how_many_steps_the_slider_has(open_app, k):
    at = open_app(PAGE, sum_k=str(k))
    (slider,) = [param for param in spec(at)["params"] if "bind" in param]
    assert slider["bind"]["max"] == k // 32
    assert slider_at(at) == min(4, k // 32)


def test_the_address_s_step_is_where_the_slider_opens_and_is_brought_into_range(open_app):
    at = open_app(PAGE, step="7")
    assert slider_at(at) == 7
    at.segmented_control(key="sum_k").set_value(64).run()
    assert not at.exception
    assert slider_at(at) == 2
    assert at.query_params == {"step": "2", "sum_k": "64"}


def test_a_format_that_the_unit_does_not_multiply_is_exchanged(open_app):
    at = open_app(PAGE, unit="volta_half", operands="e4m3")
    assert not at.exception
    assert at.selectbox(key="operands").value == "fp16"
    at = open_app(PAGE, unit="blackwell_fp8", operands="e2m1")
    assert at.selectbox(key="operands").value == "e2m1"


@pytest.mark.parametrize("operands", OPERANDS.options)
def test_curves_have_every_unit_that_multiplies_the_operands(open_app, operands):
    expected = {unit.title for unit in ACCUMULATORS.values() if operands in unit.operands}
    if operands == "e4m3":
        expected.add("Hopper FP8, promoted every 32")  # the chain, promoted at every step
    at = open_app(PAGE, sum_show="curves", operands=operands, longest_k="1024", terms="zero_mean")
    assert not at.exception
    if not at.get("vega_lite_chart"):
        assert "Every sum comes out exact" in texts(at)
        return
    drawn = set(sent_dataset(at.get("vega_lite_chart")[0], LINES)["unit"])
    assert all(any(row.startswith(title) for row in drawn) for title in expected)


def test_the_curves_are_the_errors_of_matmul(open_app):
    at = open_app(PAGE, sum_show="curves", longest_k="1024", seed="3", sum_error="bias")
    sent = sent_dataset(at.get("vega_lite_chart")[0], LINES)
    format_ = FORMATS["e4m3"]
    a, b = (format_.encode(x) for x in draw_terms(TermKind.SAME_SIGN, (16, 16), 1024, 3))
    for k in (128, 1024):
        exact = format_.decode(a[:, :k]) @ format_.decode(b[:, :k]).T
        error = matmul(a[:, :k], b[:, :k], format_, format_, FAST) - exact
        drawn = next(
            error
            for error, at_k, unit in zip(sent["error"], sent["k"], sent["unit"], strict=True)
            if at_k == k and unit.startswith("Hopper FP8, one chain")
        )
        assert drawn == pytest.approx(error.mean() / exact.mean(), rel=1e-9)
        assert drawn < 0
    assert "toward zero" in texts(at)


def test_the_size_of_the_error_is_the_recorded_one(open_app):
    """The figures quoted for U(0, 1): -6.6e-2 at K = 4096 in one chain, -5e-4 promoted every 128."""
    at = open_app(PAGE, sum_show="cost")
    assert "one chain is off by 6.6" in texts(at)
    assert re.search(r"every 128 products, as DeepSeek-V3 does, it is off by 0\.0(4|5)", texts(at))
    assert re.search(r"\*\*13\d times as exact\*\*", notice(at))


@pytest.mark.parametrize(
    ("share", "words"),
    [(0, "0%"), (0.0016, "0.16%"), (-0.066, "−6.6%"), (1.7e-7, "1.7 · 10⁻⁵%")],
)
def test_shares_are_told_in_two_digits(share, words):
    assert percent(share).replace("\N{NO-BREAK SPACE}", " ") == words


def test_two_results_are_told_apart_where_they_differ():
    assert apart(69.6484375, 69.75951) == ("69.648", "69.76")
    assert apart(263.7096, 263.70964) == ("263.7096", "263.70964")
    assert apart(1.5, 1.5) == ("1.5", "1.5")
