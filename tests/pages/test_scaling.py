"""Contract: every control gives a working page whose sentences hold the computed figures."""

import math
import re

import ml_dtypes
import numpy as np
import pytest

from fp8core.experiments.amax_series import OFFERED_SERIES, RECORDED_SERIES
from fp8core.experiments.delayed_scaling import AmaxChoice
from fp8core.inputs import LAWS, OFFERED, InputKind, draw, stretch
from fp8core.linear import OPERANDS
from fp8core.recipes import RECIPES
from pages.kit.inert import plain
from pages.scaling.charts.scene import BIN, BINS, SPANS
from pages.scaling.controls import (
    ALL_CONTROLS,
    BLOCK_SIZE,
    COUNT,
    ELEMENT,
    FORMAT,
    LOG2_SCALE,
    LOG_UNIFORM,
    MAGNITUDE,
    PASTED,
    SHOW,
)
from pages.scaling.data import on_slider, positions, presets, sweep
from pages.scaling.series import LONGEST, MOST, parse_series
from tests.pages.hostile import A_PAGE, hostile_queries
from tests.pages.specs import sent_dataset
from tests.pages.texts import notice, texts
from tests.sweeps import crossed, each

PAGE = "pages/scaling.py"
KEYS = [control.key for control in ALL_CONTROLS]
SOME_KINDS = [kind.value for kind in (*LAWS, *OFFERED[-1:])]
"""Every law, and one recorded layer."""
SOME_SERIES = [kind.value for kind in OFFERED_SERIES if kind not in RECORDED_SERIES]
SOME_SERIES += [OFFERED_SERIES[-1].value, PASTED]


def charts(at) -> list[str]:
    return [chart.proto.spec for chart in at.get("vega_lite_chart")]


def test_without_parameters_nothing_is_scaled_and_all_becomes_zero(open_app):
    at = open_app(PAGE)
    assert at.title[0].value == "Why can't FP8 do without a scale?"
    x = np.abs(draw(InputKind.GRADIENT_LIKE, (32, 128), 0))
    assert (x < 2.0**-10).all()
    assert "**100% of the numbers become 0.**" in notice(at)
    assert at.query_params == {}
    assert len(charts(at)) == 1
    assert not at.warning


def test_the_sqnr_of_the_amax_scale_is_that_of_a_direct_cast():
    x = draw(InputKind.GAUSSIAN, (32, 128), 5).astype(np.float64)
    scale = np.abs(x).max() / 448
    cast = (x / scale).astype(np.float32).astype(ml_dtypes.float8_e4m3fn).astype(np.float64) * scale
    sqnr = 10 * np.log10(np.sum(x**2) / np.sum((cast - x) ** 2))
    _, amax = sweep(("e4m3", "gaussian", "x", 5, 0, 4096))
    assert amax.sqnr_db[0] == pytest.approx(sqnr)


@pytest.mark.parametrize(("name", "kind"), crossed(each(FORMAT.options), SOME_KINDS))
def test_every_format_and_kind_of_numbers_answers(open_app, name, kind):
    at = open_app(PAGE, scaling_format=name, scaling_input=kind, scaling_magnitude="-24")
    next(b for b in at.button if b.label == "amax scale").click().run()
    assert "SQNR" in notice(at) or "become 0" in notice(at)
    spans = sent_dataset(at.get("vega_lite_chart")[0], SPANS)
    assert f"The window of {name}" in spans["words"]


@pytest.mark.skipif(OFFERED == LAWS, reason="assets/tensors holds no recorded tensors")
def test_a_recorded_layer_has_its_three_tensors_to_choose_from(open_app):
    kind = InputKind.REAL_DOWN_LATE
    for tensor in OPERANDS:
        at = open_app(PAGE, scaling_input=kind.value, scaling_tensor=tensor.value, scaling_magnitude="4")
        x = np.abs(stretch(kind, tensor, 4096, 0)) * 16
        bins = sent_dataset(at.get("vega_lite_chart")[0], BINS)
        assert bins["left"][-1] <= np.log2(x.max()) < bins["left"][-1] + BIN
    assert "scaling_tensor" not in [box.key for box in open_app(PAGE).segmented_control]


def test_a_plateau_that_leaves_the_slider_is_not_measured_short(open_app):
    least = "by a factor of at least"
    assert least in notice(open_app(PAGE, scaling_magnitude="24", scaling_log2="6"))
    assert least not in notice(open_app(PAGE, scaling_log2="-18"))


@pytest.mark.parametrize("count", COUNT.options)
def test_every_count_answers(open_app, count):
    at = open_app(PAGE, scaling_count=str(count), scaling_magnitude="24", scaling_log2="6")
    assert "SQNR stays within" in notice(at)


def test_a_button_moves_the_scale_and_the_address_follows(open_app):
    at = open_app(PAGE)
    amax = np.abs(draw(InputKind.GRADIENT_LIKE, (32, 128), 0)).max()
    next(b for b in at.button if b.label == "amax scale").click().run()
    at_scale = float(at.query_params["scaling_log2"])
    assert at_scale - 0.25 < np.log2(amax / 448) <= at_scale
    assert f'"value": [{{"s": {at_scale}}}]' in charts(at)[0]
    next(b for b in at.button if b.label == "No scale").click().run()
    assert at.query_params == {}


def test_no_scale_of_the_slider_has_digits_that_nobody_chose():
    """log2 of 2**-0.25 is -0.25000000000000006."""
    for window in (("e4m3", kind, "x", 0, 0, 1024) for kind in ("gradient_like", "gaussian")):
        every, _ = sweep(window)
        for value in (*positions(every), *presets(window).values(), on_slider(window, -0.3)):
            assert 4 * value == round(4 * value)


@pytest.mark.parametrize("name", FORMAT.options)
def test_every_scale_with_a_button_and_both_ends_of_the_slider_are_accepted(name):
    for kind, magnitude in (("gradient_like", MAGNITUDE.low), ("outlier_channels", MAGNITUDE.high)):
        window = (name, kind, "x", 3, magnitude, 1024)
        scales = np.log2(sweep(window)[0].scale)
        for value in (*presets(window).values(), float(scales[0]), float(scales[-1])):
            assert LOG2_SCALE.accepts(value), (value, window)


@pytest.mark.parametrize(("name", "kind"), crossed(each(ELEMENT.options), [*SOME_KINDS, LOG_UNIFORM]))
def test_every_element_format_and_kind_of_blocks_answers(open_app, name, kind):
    at = open_app(PAGE, scaling="rules", scaling_element=name, scaling_blocks=kind)
    share = re.search(r"\*\*([\d.]+)% of these blocks", notice(at))
    assert share
    rows = next(m.value for m in at.markdown if m.value.startswith("| Scale |")).split("\n")[2:]
    assert rows[1].split("|")[2].strip() == f"{share[1]}%"
    assert rows[0].split("|")[2].strip() == rows[3].split("|")[2].strip() == "0%"


@pytest.mark.parametrize("size", BLOCK_SIZE.options)
def test_blocks_of_uniform_log_amax_saturate_as_the_closed_form_says(open_app, size):
    at = open_app(PAGE, scaling="rules", scaling_block=str(size), scaling_blocks="log_uniform")
    told = float(re.search(r"\*\*([\d.]+)% of these blocks", notice(at))[1])
    assert told == pytest.approx(100 * (1 + 8 - math.log2(448)), abs=0.15)
    rows = next(m.value for m in at.markdown if m.value.startswith("| Scale |")).split("\n")[2:]
    for row in rows:
        measured, closed = (float(row.split("|")[i].strip(" %")) for i in (2, 3))
        assert measured == pytest.approx(closed, abs=0.15)


def test_the_exact_rules_name_the_recipes_that_go_further(open_app):
    at = open_app(PAGE, scaling="rules")
    assert any(RECIPES["four_over_six"].title in text.value for text in at.markdown)


@pytest.mark.parametrize("kind", SOME_SERIES)
@pytest.mark.parametrize("choice", AmaxChoice)
def test_every_series_and_choice_answers(open_app, kind, choice):
    at = open_app(PAGE, scaling="delayed", scaling_series=kind, scaling_amax=choice.name.lower())
    assert "The step's own amax" in notice(at) or "the step's own amax none does" in notice(at)
    assert len(charts(at)) == 1


def test_overflows_of_a_pasted_series_are_counted_by_hand(open_app):
    at = open_app(
        PAGE,
        scaling="delayed",
        scaling_series="pasted",
        scaling_own="1 1 8,1;1\n4 4",
        scaling_history="2",
    )
    assert "**2 of 6 steps overflow.**" in notice(at)
    unused = (0 + 3 + 3 + 0) / 4
    row = f"| 2 of 6 | 8× | {unused:.2f} | 3.00 |"
    assert row in texts(at)
    at.number_input(key="scaling_margin").set_value(3).run()
    assert "**none of 6 steps overflows.**" in notice(at)


def test_one_step_has_its_verb(open_app):
    query = {"scaling": "delayed", "scaling_series": "pasted", "scaling_own": "1 2 4 8"}
    text = notice(open_app(PAGE, **query))
    assert "**3 of 3 steps overflow.**" in text
    one = notice(open_app(PAGE, **query | {"scaling_own": "1 8 1"}))
    assert "**1 of 2 steps overflows.**" in one


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", f"A series needs 2 to {MOST} numbers; 0 came."),
        ("1", f"A series needs 2 to {MOST} numbers; 1 came."),
        ("1 2 three 4", "Number 3 of 4 is “three”; an amax is needed"),
        ("1 -2", "Number 2 of 2 is “-2”; an amax is needed"),
        ("0 1", "Number 1 of 2 is “0”; an amax is needed"),
        ("1 nan", "Number 2 of 2 is “nan”; an amax is needed"),
        ("1 1e400", "Number 2 of 2 is “1e400”; an amax is needed"),
        ("1 `**x**`", f"is “{plain('`**x**`')}”"),
        ("1 " + "9" * 900, "is “" + "9" * 24 + "…”"),
        ("1 " * 900, f"A series needs 2 to {MOST} numbers; 900 came."),
        (
            "12.25 " * (LONGEST // 6) + "1234",
            f"fills all {LONGEST:,} characters of this field, so its end may",
        ),
    ],
    ids=lambda text: text[:12],
)
def test_a_series_that_is_none_is_kept_and_told_in_one_sentence(open_app, text, told):
    at = open_app(PAGE, scaling="delayed", scaling_series="pasted", scaling_own=text)
    assert not at.exception
    assert len(at.error) == 1
    assert told in at.error[0].value
    assert at.text_area(key="scaling_own").value == text
    at.text_area(key="scaling_own").set_value("1 2 3").run()
    assert not at.error
    assert "of 2 steps" in notice(at)


def test_a_series_copied_from_a_web_page_or_a_table_is_read(open_app):
    pasted = "\ufeff1\u00a02\u20090.5\u202f4\t5;6，3e−2\u200b7\u3000\r\n8"
    assert parse_series(pasted) == (1, 2, 0.5, 4, 5, 6, 0.03, 7, 8)
    at = open_app(PAGE, scaling="delayed", scaling_series="pasted", scaling_own=pasted)
    assert "of 8 steps" in notice(at)
    at.text_area(key="scaling_own").set_value("1\u00a0two").run()
    assert "Number 2 of 2 is “two”" in at.error[0].value


def test_as_many_numbers_as_the_box_holds_are_a_series():
    text = " ".join([f"{1 / 3:.17f}"] * MOST)
    assert len(text) < LONGEST
    assert parse_series(text) == (float(f"{1 / 3:.17f}"),) * MOST


def test_values_survive_a_page_switch(open_app):
    at = open_app(PAGE, scaling="rules", scaling_element="e2m1", scaling_block="16", scaling_log2="-3.5")
    at.switch_page("pages/tile_layouts.py").run()
    assert "scaling" not in at.query_params
    at.switch_page(PAGE).run()
    assert at.segmented_control(key="scaling").value == "rules"
    assert at.selectbox(key="scaling_element").value == "e2m1"
    assert at.query_params["scaling_log2"] == "-3.5"
    next(b for b in at.button if b.label == "Reset").click().run()
    assert at.query_params == {}


@pytest.mark.parametrize("section", SHOW.options)
def test_only_the_open_section_is_drawn(open_app, section):
    at = open_app(PAGE, scaling=section)
    assert len(charts(at)) == 1
    assert all(chart.proto.alt for chart in at.get("vega_lite_chart"))


def test_nobody_breaks_it_by_its_address(open_app):
    at = open_app(PAGE)
    for query in hostile_queries(KEYS, A_PAGE):
        at.query_params.clear()
        for key, value in query.items():
            at.query_params[key] = value
        at.run()
        assert not at.exception, (query, at.exception[0].value)
        assert at.title
