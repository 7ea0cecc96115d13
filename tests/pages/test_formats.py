"""Formats: what the page says is what the formats do, and no address or typed text breaks it."""

import numpy as np
import pytest

from fp8core.formats import FORMATS
from fp8core.formats.number_line import outcomes
from pages.formats.controls import (
    ALL_CONTROLS,
    FORMAT,
    OVERFLOW,
    OWN,
    OWN_SPECIALS,
    ROUNDING,
    SHOW,
    TITLES,
)
from pages.formats.data import gradient_fates, gradients
from pages.formats.words import probability
from pages.kit.number_text import CodeText, read
from tests.pages.hostile import A_PAGE, hostile_queries
from tests.sweeps import crossed, each

PAGE = "pages/formats.py"
KEYS = [control.key for control in ALL_CONTROLS]


def told(at) -> str:
    assert not at.exception, at.exception[0].value
    return " ".join(element.value for element in at.markdown)


def test_every_format_is_offered_once():
    assert set(TITLES) == {*FORMATS, OWN}


def test_the_page_opens_on_a_number_that_eight_bits_cannot_say(open_app):
    at = open_app(PAGE)
    assert at.title[0].value.endswith("?")
    assert "0.3 becomes 0.3125" in told(at)
    assert "from 0.296875 to 0.328125" in told(at)
    assert at.query_params == {}


@pytest.mark.parametrize(
    ("name", "number"), crossed(each(FORMAT.options), ("0.3", "-448", "0x0", "inf", "nan"))
)
def test_every_format_shows_every_kind_of_number(open_app, name, number):
    at = open_app(PAGE, code_format=name, number=number)
    assert "**" in told(at)
    assert len(at.get("vega_lite_chart")) >= 1


@pytest.mark.parametrize("rounding", ROUNDING.options)
@pytest.mark.parametrize("overflow", OVERFLOW.options)
def test_every_rounding_and_overflow_policy_answers(open_app, rounding, overflow):
    at = open_app(PAGE, code_format="e5m2", rounding=rounding, overflow=overflow, number="61441")
    expected = {"saturate": "57344", "inf": "∞", "nan": "NaN"}[overflow]
    if rounding == "toward_zero":
        expected = "57344"
    assert expected in told(at)


def test_stochastic_rounding_is_shown_as_two_outcomes(open_app):
    text = told(open_app(PAGE, code_format="e2m1", number="2.3", rounding="stochastic"))
    assert "2 with probability 0.7 or 3 with probability 0.3" in text
    assert "on average 2.3" in text


def test_a_probability_that_is_nearly_one_is_not_printed_as_certain():
    printed = [probability(outcome.probability) for outcome in outcomes(FORMATS["e4m3"], 1e-19)]
    assert not {"0", "1"} & set(printed)
    assert printed[0].startswith("1 − ")
    assert probability(1.0) == "1"


@pytest.mark.parametrize("section", SHOW.options)
def test_every_section_opens_and_only_it_runs(open_app, section):
    at = open_app(PAGE, formats=section)
    told(at)
    charts = {"code": 4, "overflow": 3}.get(section, 1)
    assert len(at.get("vega_lite_chart")) == charts
    assert all(chart.proto.alt for chart in at.get("vega_lite_chart"))


@pytest.mark.parametrize(
    ("specials", "section"), crossed(each(OWN_SPECIALS.options), ("code", "compare", "overflow"))
)
def test_ones_own_format_is_drawn_like_the_others(open_app, specials, section):
    own = {"code_format": OWN, "compared": "own,e4m3", "overflowing": "own"}
    at = open_app(PAGE, formats=section, own_exponent="3", own_mantissa="2", own_specials=specials, **own)
    told(at)
    assert not at.error


def test_an_impossible_format_is_refused_in_a_sentence_and_the_page_goes_on(open_app):
    for section in ("code", "compare", "overflow"):
        at = open_app(
            PAGE,
            formats=section,
            code_format=OWN,
            own_exponent="0",
            compared="own,e4m3",
            overflowing="own,e4m3",
        )
        assert at.error[0].value.startswith("Your E0M4 needs exponent bits from 1 to 8, got 0.")
        assert told(at)
        assert at.get("vega_lite_chart")
        assert at.session_state["own_exponent"] == 0, "nothing the reader set is lost"


@pytest.mark.parametrize(
    ("number", "came"), [("abc", "“abc”"), ("", "nothing"), ("1/0", "“1/0”"), ("12,5", "“12,5”")]
)
def test_a_text_that_is_no_number_is_refused_in_a_sentence(open_app, number, came):
    at = open_app(PAGE, number=number)
    assert at.warning[0].value.startswith(f"Got {came}; needed is a number")
    assert told(at)
    assert at.session_state["number"] == number


def test_a_code_too_large_and_a_nan_without_code_are_said(open_app):
    at = open_app(PAGE, code_format="e2m1", number="0xff")
    assert "run from 0 to 0xF, got 0xff" in at.warning[0].value
    at = open_app(PAGE, code_format="e2m1", number="nan")
    assert "no code for NaN" in at.warning[0].value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.3", 0.3),
        (" −1e-3 ", -1e-3),
        ("1/3", 1 / 3),
        ("2^-9", 2.0**-9),
        ("-2^4", -16.0),
        ("∞", np.inf),
        ("\u00a00.3\u2009", 0.3),
    ],
)
def test_numbers_are_read(text, value):
    assert read(text) == value
    assert np.signbit(read("-0"))
    assert read("2^9999") == np.inf
    assert read("-2^9999") == -np.inf


def test_a_number_with_a_no_break_space_is_read_and_not_replaced(open_app):
    at = open_app(PAGE)
    at.text_input(key="number").set_value("0.75\u00a0").run()
    assert "0.75 is a value" in told(at)
    at.text_input(key="number").set_value("\x00a\u202eb").run()
    assert at.warning[0].value.startswith("Got “\ufffda\ufffdb”; needed is a number")


def test_codes_are_read():
    assert read("0x2A") == CodeText(42)
    assert read("0b101010") == CodeText(42)


def test_stepping_visits_the_neighbors_and_the_code_field_sets_the_code(open_app):
    at = open_app(PAGE, number="1")
    at.button(key="formats_larger").click().run()
    assert "Code 0x39 is 1.125" in told(at)
    at.button(key="formats_smaller").click().run()
    at.button(key="formats_smaller").click().run()
    assert "is 0.9375" in told(at)
    at.number_input(key="_formats_code").set_value(127).run()
    assert "Code 0x7F is NaN" in told(at)
    assert at.query_params == {"number": "0x7f"}
    assert at.button(key="formats_larger").disabled


def test_the_sentence_of_every_e4m3_code_names_its_value(open_app):
    at = open_app(PAGE)
    for code in (0x00, 0x01, 0x08, 0x38, 0x7E, 0x80, 0xFE):
        at.number_input(key="_formats_code").set_value(code).run()
        value = float(FORMATS["e4m3"].decode(code))
        assert f"Code 0x{code:02X} is {value:.10g}".replace("-", "−") in told(at)


def test_the_shares_of_vanishing_gradients_are_those_of_counting():
    x = np.abs(gradients())
    found = gradient_fates()
    for k in (0, 8, 20):
        assert found["fp16"][k].zero == (x * 2.0**k <= 2.0**-25).mean()
        assert found["E4M3"][k].overflow == (x * 2.0**k > 464).mean()
    assert found["bf16"][0].zero == 0


def test_values_survive_a_page_switch_and_reset_clears_them(open_app):
    values = {
        "formats": "compare",
        "code_format": "e5m2",
        "number": "0x7b",
        "compared": "hif8,e2m1",
        "axis": "linear",
    }
    at = open_app(PAGE, **values)
    assert at.query_params == values
    at.switch_page("pages/live_gemm.py").run()
    at.switch_page(PAGE).run()
    told(at)
    assert at.query_params == values
    next(button for button in at.button if button.label == "Reset").click().run()
    assert at.query_params == {}


@pytest.mark.parametrize("compared", ["e4m3,xyz", "e4m3,e4m3", "", "e4m3,", "x" * 5000])
def test_formats_that_do_not_exist_or_repeat_are_refused_in_words(open_app, compared):
    at = open_app(PAGE, formats="compare", compared=compared)
    told(at)
    assert "joined by commas, or none" in at.warning[0].value
    assert at.query_params == {"formats": "compare"}


def test_an_old_address_of_range_and_precision_opens_the_numbers_of_each_power_of_two(open_app):
    at = open_app(PAGE, formats="range")
    assert "18 powers of two, **up to 8 in each.**" in told(at)
    assert at.query_params == {"formats": "compare", "axis": "count"}
    assert len(at.get("vega_lite_chart")) == 2


def test_no_format_chosen_is_an_invitation(open_app):
    for section, key in (("compare", "compared"), ("overflow", "overflowing")):
        at = open_app(PAGE, **{"formats": section, key: "none"})
        assert at.info[0].value == "Choose at least one format."
        assert not at.exception


@pytest.mark.parametrize("part", range(4))
def test_hostile_addresses_give_a_working_page(open_app, part):
    for query in hostile_queries(KEYS, A_PAGE)[part::4]:
        at = open_app(PAGE, **query)
        assert not at.exception, (query, at.exception[0].value)
        assert set(at.query_params) <= {*KEYS, "embed", "embed_options"}
