"""Section "One code": what the page says and draws of a number is what the format does."""

import contextlib
import itertools
import math
import random

import ml_dtypes
import numpy as np
import pytest

from fp8core.formats import FORMATS, Format
from fp8core.formats.float_format import FloatFormat, Specials
from fp8core.formats.number_line import interval, outcomes
from fp8core.formats.spelling import spell
from fp8core.rounding import Overflow, Rounding
from pages.formats.charts import code as charts
from pages.formats.charts import words as in_words
from pages.formats.charts.words import glance, percent, power_or_number
from pages.formats.code import (
    FORMAT,
    OVERFLOW,
    ROUNDING,
    CodeText,
    facts,
    notice,
    probability,
    read_number,
    reals,
)
from pages.formats.controls import OWN, TITLES
from pages.kit.charts.ink import LIGHT
from pages.kit.charts.template import by_column
from pages.kit.lesson.facts import fact
from tests.pages.specs import dataset, in_rows

PAGE = "pages/formats.py"
SMALL = {name: format_ for name, format_ in FORMATS.items() if format_.bits <= charts.LARGEST}
E4M3 = FORMATS["e4m3"]
NUMBERS = (0.0, -0.0, 0.3, -1.0, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan)
EXPONENTS, MANTISSAS, BIASES = (1, 2, 8), (0, 1, 23), (-300, 0, 300)
OWN_FORMATS = 8
FIELDS = ("exponent_bits", "mantissa_bits", "bias", "specials")


def words(at) -> str:
    assert not at.exception, at.exception[0].value
    return " ".join(element.value for element in at.markdown)


def sentences(name: str, number: float, overflow: Overflow = Overflow.SATURATE) -> str:
    """The page's sentences on a number, by nearest even."""
    format_, rounding = FORMATS[name], Rounding.NEAREST_EVEN
    code = int(format_.encode(number, rounding, overflow))
    around = interval(format_, code, rounding, overflow)
    return f"{notice(format_, code, number, ())} {reals(around, rounding)}"


def of_kind(rows: list[dict], kind: str, field: str) -> list:
    """A field of the rows of one kind."""
    return [row[field] for row in rows if row["kind"] == kind]


def test_every_format_is_offered_once():
    assert set(TITLES) == {*FORMATS, OWN}


def test_the_page_opens_on_a_number_that_eight_bits_cannot_say(open_app):
    at = open_app(PAGE)
    assert "0.3 becomes 0.3125" in words(at)
    assert "from 0.296875 to 0.328125" in words(at)
    assert at.query_params == {}
    assert len(at.get("vega_lite_chart")) == 4
    assert all(chart.proto.alt for chart in at.get("vega_lite_chart"))


@pytest.mark.parametrize(
    ("name", "number"),
    [
        *zip(FORMAT.options, itertools.cycle(("0.3", "-448", "0x0", "inf", "nan")), strict=False),
        ("e5m2", "0x7c"),
    ],
)
def test_every_format_shows_every_kind_of_number(open_app, name, number):
    at = open_app(PAGE, code_format=name, number=number)
    assert "**" in words(at)
    assert at.get("vega_lite_chart")


@pytest.mark.parametrize("rounding", ROUNDING.options)
@pytest.mark.parametrize("overflow", OVERFLOW.options)
def test_every_rounding_and_overflow_policy_answers(open_app, rounding, overflow):
    at = open_app(PAGE, code_format="e5m2", rounding=rounding, overflow=overflow, number="61441")
    result = {"saturate": "57344", "inf": "∞", "nan": "NaN"}[overflow]
    assert ("57344" if rounding == "toward_zero" else result) in words(at)


def test_stochastic_rounding_is_shown_as_two_outcomes(open_app):
    text = words(open_app(PAGE, code_format="e2m1", number="2.3", rounding="stochastic"))
    assert "2 with probability 0.7 or 3 with probability 0.3" in text
    assert "on average 2.3" in text
    both = outcomes(FORMATS["e2m1"], 2.3)
    rows = in_rows(charts.line_rows(FORMATS["e2m1"], both[0].code, None, 2.3, both))
    assert of_kind(rows, "chance", "text") == ["p = 0.7", "p = 0.3"]


def test_a_probability_that_is_nearly_one_is_not_printed_as_certain():
    texts = [probability(outcome.probability) for outcome in outcomes(E4M3, 1e-19)]
    assert not {"0", "1"} & set(texts)
    assert texts[0].startswith("1 − ")
    assert probability(1.0) == "1"


def test_an_impossible_format_is_refused_in_a_sentence_and_the_page_goes_on(open_app):
    own = {"code_format": OWN, "own_exponent": "0", "compared": "own,e4m3", "overflowing": "own,e4m3"}
    for section in ("code", "compare", "overflow"):
        at = open_app(PAGE, formats=section, **own)
        assert at.error[0].value.startswith("Your E0M4 needs exponent bits from 1 to 8, got 0.")
        assert words(at)
        assert at.get("vega_lite_chart")
        assert at.session_state["own_exponent"] == 0, "nothing the reader set is lost"


@pytest.mark.parametrize(
    ("number", "came"),
    [("abc", "“abc”"), ("", "nothing"), ("1/0", "“1/0”"), ("12,5", "“12,5”"), ("a\u202eb", "“a\ufffdb”")],
)
def test_a_text_that_is_no_number_is_refused_in_a_sentence(open_app, number, came):
    at = open_app(PAGE)
    at.text_input(key="number").set_value(number).run()
    assert at.warning[0].value.startswith(f"Got {came}; needed is a number")
    assert words(at)
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
        ("2^9999", np.inf),
        ("-2^9999", -np.inf),
        ("0x2A", CodeText(42)),
        ("0b101010", CodeText(42)),
    ],
)
def test_numbers_and_codes_are_read(text, value):
    assert read_number(text) == value
    assert np.signbit(read_number("-0"))


def own_formats() -> list[FloatFormat]:
    """Formats of the extreme fields, as many of them as there is time for, and always the smallest."""
    every = []
    for fields in itertools.product(EXPONENTS, MANTISSAS, BIASES, Specials):
        with contextlib.suppress(ValueError):
            every.append(FloatFormat(name="own", **dict(zip(FIELDS, fields, strict=True))))
    smallest = [one for one in every if one.max == one.min_subnormal]
    assert smallest
    return smallest + random.Random(0).sample(every, OWN_FORMATS)


def draw_all(format_: Format) -> None:
    """Draw all of a format, and the numbers in it, roundings and policies taking turns."""
    assert facts(format_)
    if format_.bits <= charts.LARGEST:
        assert len(charts.table_rows(format_)) == 1 << format_.bits
    ends = (format_.max, -format_.max, format_.min_subnormal / 2, format_.min_subnormal * 1.5)
    turns = itertools.cycle(itertools.product(Rounding, format_.overflows))
    for number, (rounding, overflow) in zip((*NUMBERS, *ends), turns, strict=False):
        if math.isnan(number) and Overflow.NAN not in format_.overflows:
            continue
        both = outcomes(format_, number, overflow) if rounding is Rounding.STOCHASTIC else ()
        code = both[0].code if both else int(format_.encode(number, rounding, overflow))
        around = interval(format_, code, rounding, overflow)
        assert notice(format_, code, number, both)
        assert reals(around, rounding)
        assert charts.bit_rows(format_, spell(format_, code))
        if not math.isnan(float(format_.decode(code))):
            assert charts.line_rows(format_, code, around, number, both)


def test_every_number_is_said_and_drawn_in_every_format_and_in_extreme_ones_of_ones_own():
    for format_ in (*FORMATS.values(), *own_formats()):
        draw_all(format_)


def test_zero_and_what_is_too_small_take_the_smallest_value_of_a_format_without_zero():
    for number in (0.0, 1e-300, 5e-324):
        assert "the smallest value: e8m0 has no zero" in sentences("e8m0", number)
    assert "it is negative, and e8m0 has no sign" in sentences("e8m0", -1.0)


def test_only_what_lies_outside_the_finite_values_is_said_to_lie_beyond():
    for name, format_ in FORMATS.items():
        low, high = float(format_.decode(format_.encode(-math.inf))), format_.max
        if format_.signed:
            assert "beyond" not in sentences(name, math.nextafter(low, 0))
            assert "beyond the lowest value" in sentences(name, 2 * low)
        assert "beyond" not in sentences(name, math.nextafter(high, 0))
        assert "beyond the largest value" in sentences(name, 2 * high)
        if Overflow.NAN in format_.overflows:
            assert "NaN**" in sentences(name, 2 * high, Overflow.NAN)
    assert "−1.995 becomes −2**, 0.251% too large" in sentences("mxint8", -1.995)


def test_minus_zero_is_not_kept_where_there_is_none():
    for name, format_ in FORMATS.items():
        if format_.signed:
            has_minus_zero = math.copysign(1.0, float(format_.decode(format_.encode(-0.0)))) < 0
            assert ("kept exactly" in sentences(name, -0.0)) is has_minus_zero


def test_the_cells_are_the_bits_and_the_fields_cover_them():
    for name, code in (("e4m3", 0x2A), ("hif8", 0x35), ("mxint8", 0xC8), ("e8m0", 3), ("fp32", 0x3F800001)):
        spelling = spell(FORMATS[name], code)
        rows = charts.bit_rows(FORMATS[name], spelling)
        places = zip(of_kind(rows, "bit", "text"), of_kind(rows, "bit", "bit"), strict=True)
        assert sum(int(digit) << bit for digit, bit in places) == code
        assert "".join(of_kind(rows, "bit", "role")) == spelling.layout
        assert set(of_kind(rows, "field", "role")) == set(spelling.layout)
        assert max(row["x1"] for row in rows) <= charts.per_line(len(spelling.bits)) <= charts.ROW


@pytest.mark.parametrize(
    ("name", "code", "factors"),
    [
        ("e4m3", 0x2A, ["+", "2⁵⁻⁷", "1.25"]),
        ("e4m3", 0x03, ["+", "2¹⁻⁷", "0.375"]),
        ("e4m3", 0x7F, ["+", "15", "7"]),
        ("mxint8", 0xF8, ["−8"]),
        ("mxint8", 0x08, ["8"]),
    ],
)
def test_the_fields_are_the_factors_of_the_value(name, code, factors):
    rows = charts.bit_rows(FORMATS[name], spell(FORMATS[name], code))
    assert of_kind(rows, "field", "what") == factors


def test_the_line_places_neighbors_interval_and_number_to_scale():
    rows = in_rows(charts.line_rows(E4M3, 0x38, interval(E4M3, 0x38, Rounding.NEAREST_EVEN), typed=1.0625))
    values = [float(text) for text in of_kind(rows, "value", "text")]
    low, high = values[0], values[-1]
    assert of_kind(rows, "value", "x") == pytest.approx([(x - low) / (high - low) for x in values])
    assert of_kind(rows, "end", "words") == ["[", "]"], "1 has an even code: its ties come to it"
    assert of_kind(rows, "number", "x") == pytest.approx([(1.0625 - low) / (high - low)])


def test_the_handle_stops_at_round_numbers_and_at_the_neighbors_and_the_line_can_stay():
    rows = in_rows(charts.line_rows(E4M3, 0x2B, None, typed=1 / 3, center=0x2A))
    assert of_kind(rows, "value", "code") == [f"0x{code:02X}" for code in range(0x28, 0x2D)]
    stops = of_kind(rows, "stop", "at")
    assert {0.25, 0.28125, 0.3125, 0.34375, 0.375, 1 / 3, 0.3} <= set(stops)
    assert stops == sorted(stops)
    for format_ in FORMATS.values():
        for code in (0, 1, 5, format_.max_code // 2, format_.max_code):
            stops = of_kind(in_rows(charts.line_rows(format_, code, None)), "stop", "at")
            assert 2 <= len(stops) <= 180
            codes = charts.neighbors(format_, code)
            assert code in codes
            assert 2 <= len(codes) <= 7, "labels have room"
            assert all(read_number(repr(one)) == one for one in stops)


def test_an_interval_without_end_is_an_arrow():
    rows = in_rows(charts.line_rows(E4M3, 0x7E, interval(E4M3, 0x7E, Rounding.NEAREST_EVEN)))
    assert of_kind(rows, "arrow", "text") == ["▶"]
    bounded = charts.line_rows(E4M3, 0x7E, interval(E4M3, 0x7E, Rounding.NEAREST_EVEN, Overflow.NAN))
    assert "arrow" not in bounded["kind"]


@pytest.mark.parametrize("name", SMALL)
def test_the_table_has_every_code_once(name):
    cells = charts.table_rows(SMALL[name])
    assert [row["code"] for row in cells] == list(range(1 << SMALL[name].bits))
    assert len({(row["row"], row["column"]) for row in cells}) == len(cells)
    assert all(len(str(row["text"])) <= 7 for row in cells)
    spec = charts.code_table(SMALL[name], 1, LIGHT)
    assert dataset(spec, charts.CODES) == by_column(cells)
    assert dataset(spec, charts.CURRENT)["code"] == [1]


@pytest.mark.parametrize("sign", [1, -1])
def test_the_strip_has_every_number_of_a_sign(sign):
    for format_ in SMALL.values():
        sizes = {sign * v for v in format_.values.tolist() if 0 < sign * v < math.inf}
        if sizes:
            ticks = dataset(charts.strip_chart(format_, 1, LIGHT, sign), charts.TICKS)
            assert ticks["log2"] == sorted(map(math.log2, sizes))
            codes = [int(code, 16) for code in ticks["code"]]
            assert np.abs(format_.decode(np.array(codes))).tolist() == sorted(sizes)


def test_facts_are_those_of_ml_dtypes():
    every = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64)
    assert fact("formats.number_count", {}) == np.unique(every[np.isfinite(every)]).size
    rounded = float(np.float32(0.001).astype(ml_dtypes.float8_e4m3fn))
    assert fact("formats.rounded", {"number": "0.001"}) == rounded
    assert fact("formats.rounded_ratio", {"number": "0.001"}) == pytest.approx(rounded / 0.001)
    x = np.linspace(1, 2, 10_001, dtype=np.float32)
    worst = (np.abs(x.astype(ml_dtypes.float8_e4m3fn).astype(np.float64) - x) / x).max()
    assert fact("formats.worst_error", {}) == pytest.approx(worst, rel=1e-3)
    assert (fact("formats.largest", {}), fact("formats.smallest_normal", {})) == (448, 2.0**-6)


def test_numbers_in_words():
    numbers = (0.3125, 448.0, -57344.0, 2.0**-9, 1e10, math.inf, -0.0, math.nan)
    texts = ["0.3125", "448", "−57344", "0.001953125", "1e10", "∞", "−0", "NaN"]
    assert [in_words.number(value) for value in numbers] == texts
    rounded = [glance(v) for v in (0.01367, 57344.0, 2.0**-24, -0.0, -0.3125)]
    assert rounded == ["≈0.014", "57344", "≈6e−8", "−0", "−0.3125"]
    assert [power_or_number(v) for v in (2.0**-9, 448.0, 1.0, 2.0**15)] == ["2⁻⁹", "448", "1", "2¹⁵"]
    shares = (0.0, 0.0001, 0.127, 0.9999, 1.0)
    assert [percent(share) for share in shares] == ["0%", "<0.1%", "12.7%", ">99.9%", "100%"]
