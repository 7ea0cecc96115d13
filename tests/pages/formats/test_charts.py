"""Pictures of formats: every value is in them, at its place."""

import json
import math
from collections import Counter

import pytest

from fp8core.formats import FORMATS
from fp8core.formats.number_line import interval, outcomes
from fp8core.formats.spelling import spell
from fp8core.rounding import Overflow, Rounding
from pages.formats.charts import bits as formats_bits
from pages.formats.charts import line as formats_line
from pages.formats.charts import overflow as formats_overflow
from pages.formats.charts import table as formats_table
from pages.formats.charts.compare import BINADES, NAMES, VALUES, binade_counts, compare_chart, count_chart
from pages.formats.charts.strip import TICKS, strip_chart
from pages.formats.charts.words import glance, number, percent, power_or_number
from pages.formats.data import gradient_spec
from pages.kit.charts.ink import DARK, INKS, LIGHT
from pages.kit.charts.template import by_column
from tests.pages.specs import dataset, rows

SMALL = {name: f for name, f in FORMATS.items() if f.bits <= 8}


def test_the_cells_are_the_bits_and_the_fields_cover_them():
    for name, code in (("e4m3", 0x2A), ("hif8", 0x35), ("mxint8", 0xC8), ("e8m0", 3), ("fp32", 0x3F800001)):
        spelling = spell(FORMATS[name], code)
        rows = formats_bits.bit_rows(FORMATS[name], spelling)
        cells = [i for i, kind in enumerate(rows["kind"]) if kind == "bit"]
        assert sum(int(rows["text"][i]) << rows["bit"][i] for i in cells) == code
        assert "".join(rows["role"][i] for i in cells) == spelling.layout
        fields = [i for i, kind in enumerate(rows["kind"]) if kind == "field"]
        assert {rows["role"][i] for i in fields} == set(spelling.layout)
        assert max(rows["x1"]) <= formats_bits.per_line(len(spelling.bits)) <= formats_bits.ROW


def test_the_fields_are_the_factors_of_the_value():
    wanted = {0x2A: {"+", "2⁵⁻⁷", "1.25"}, 0x03: {"+", "2¹⁻⁷", "0.375"}, 0x7F: {"+", "15", "7"}}
    for code, told in wanted.items():
        rows = formats_bits.bit_rows(FORMATS["e4m3"], spell(FORMATS["e4m3"], code))
        fields = zip(rows["kind"], rows["what"], strict=True)
        assert {what for kind, what in fields if kind == "field"} == told


def test_the_line_places_neighbors_interval_and_number_to_scale():
    e4m3 = FORMATS["e4m3"]
    found = interval(e4m3, 0x38, Rounding.NEAREST_EVEN)
    rows = formats_line.line_rows(e4m3, 0x38, found, typed=1.0625)
    places = {
        text: x
        for kind, text, x in zip(rows["kind"], rows["text"], rows["x"], strict=True)
        if kind == "value"
    }
    low, high = (float(next(iter(places))), float(list(places)[-1]))
    for text, x in places.items():
        assert x == pytest.approx((float(text) - low) / (high - low))
    ends = [on for kind, on in zip(rows["kind"], rows["on"], strict=True) if kind == "end"]
    assert ends == [1, 1], "1 has an even code: its ties come to it"
    typed = next(x for kind, x in zip(rows["kind"], rows["x"], strict=True) if kind == "number")
    assert typed == pytest.approx((1.0625 - low) / (high - low))


def test_the_labels_of_neighbors_leave_each_other_room():
    for format_ in FORMATS.values():
        for code in (0, 1, 5, format_.max_code // 2, format_.max_code):
            codes = formats_line.shown_codes(format_, code)
            assert code in codes
            assert 2 <= len(codes) <= 7


def test_both_outcomes_of_stochastic_rounding_are_on_the_line():
    e2m1 = FORMATS["e2m1"]
    told = outcomes(e2m1, 2.3)
    rows = formats_line.line_rows(e2m1, told[0].code, None, 2.3, told)
    assert [t for kind, t in zip(rows["kind"], rows["text"], strict=True) if kind == "chance"] == [
        "p = 0.7",
        "p = 0.3",
    ]


def test_an_interval_without_end_is_an_arrow():
    e4m3 = FORMATS["e4m3"]
    rows = formats_line.line_rows(e4m3, 0x7E, interval(e4m3, 0x7E, Rounding.NEAREST_EVEN))
    assert [t for kind, t in zip(rows["kind"], rows["text"], strict=True) if kind == "arrow"] == ["▶"]
    bounded = formats_line.line_rows(e4m3, 0x7E, interval(e4m3, 0x7E, Rounding.NEAREST_EVEN, Overflow.NAN))
    assert "arrow" not in bounded["kind"]


@pytest.mark.parametrize("name", SMALL)
def test_the_table_has_every_code_once(name):
    cells = formats_table.table_rows(SMALL[name])
    assert [row["code"] for row in cells] == list(range(1 << SMALL[name].bits))
    places = {(row["row"], row["column"]) for row in cells}
    assert len(places) == len(cells)
    assert all(len(str(row["text"]).lstrip("−")) <= 5 for row in cells)
    for ink in (LIGHT, DARK):
        spec = formats_table.code_table(SMALL[name], 1, ink)
        assert dataset(spec, formats_table.CODES) == by_column(cells)
        assert dataset(spec, formats_table.CHOSEN)["code"] == [1]


def test_the_enlarged_table_has_the_chosen_code_among_its_neighbors():
    for name in SMALL:
        for code in (0, SMALL[name].max_code, (1 << SMALL[name].bits) - 1):
            spec = formats_table.code_table(SMALL[name], code, LIGHT, is_near=True)
            across, down = (spec["layer"][0]["encoding"][axis]["scale"]["domain"] for axis in "xy")
            place = formats_table.cell(SMALL[name].bits, code)
            assert place["column"] in across
            assert place["row"] in down
            assert len(across) <= 8 >= len(down)


def test_the_strip_has_every_positive_number():
    for format_ in SMALL.values():
        positive = {v for v in format_.values.tolist() if 0 < v < math.inf}
        drawn = dataset(strip_chart(format_, 1, LIGHT), TICKS)["log2"]
        assert drawn == sorted(map(math.log2, positive))


@pytest.mark.parametrize("logarithmic", [True, False])
def test_every_positive_value_is_a_tick(logarithmic):
    ticks = rows(compare_chart(SMALL, logarithmic, 500, LIGHT), VALUES)
    for name, format_ in SMALL.items():
        positive = sorted(v for v in format_.values.tolist() if 0 < v < math.inf)
        assert sorted(row["x"] for row in ticks if row["format"] == name) == positive


def test_a_format_of_many_codes_is_one_bar_from_its_smallest_value_to_its_largest():
    fp16 = FORMATS["fp16"]
    (bar,) = rows(compare_chart({"fp16": fp16}, True, 500, LIGHT), VALUES)
    assert (bar["x"], bar["x2"]) == (fp16.min_subnormal, fp16.max)


def test_axes_are_as_long_as_their_formats_before_the_data_arrive():
    formats = {"E4M3": FORMATS["e4m3"], "fp16": FORMATS["fp16"]}
    for spec, lines in (
        (compare_chart(formats, True, 500, LIGHT), list(formats)),
        (formats_overflow.overflow_chart(formats, LIGHT), None),
    ):
        view = spec["layer"][0] if "layer" in spec else spec
        found = view["encoding"]["y"]["scale"]["domain"]
        (name,) = spec["datasets"]
        column = "line" if lines is None else "format"
        assert found == (lines or list(dict.fromkeys(dataset(spec, name)[column])))
        assert set(found) == set(dataset(spec, name)[column])


@pytest.mark.parametrize("name", SMALL)
def test_a_bar_has_the_values_from_its_power_of_two_to_the_next(name):
    positive = [v for v in set(SMALL[name].values.tolist()) if 0 < v < math.inf]
    assert binade_counts(SMALL[name]) == Counter(math.frexp(v)[1] - 1 for v in positive)


def test_a_bar_that_is_twice_as_many_values_is_one_step_higher():
    spec = count_chart({"E4M3": FORMATS["e4m3"], "fp16": FORMATS["fp16"]}, 500, LIGHT)
    bars = {(row["format"], row["x0"]): row for row in rows(spec, BINADES)}
    heights = [bars["E4M3", 2.0**e]["y0"] - bars["E4M3", 2.0**e]["y1"] for e in (-9, -8, -7, -6, 0)]
    assert [height / heights[0] for height in heights] == pytest.approx([1, 2, 3, 4, 4])
    assert bars["E4M3", 256.0]["count"] == 7, "the last code is NaN"
    assert bars["fp16", 2.0**15]["count"] == 1024
    assert [row["words"] for row in rows(spec, NAMES)] == [
        "E4M3: 18 powers of two, up to 8 numbers in each",
        "fp16: 40 powers of two, up to 1,024 numbers in each",
    ]


def test_overflow_by_hand():
    cells = {(r["line"], r["input"]): r["text"] for r in formats_overflow.overflow_rows(FORMATS)}
    tie, above = formats_overflow.INPUTS[1:3]
    assert cells["e4m3: to NaN", tie] == "448"
    assert cells["e4m3: to NaN", above] == "NaN"
    assert cells["e5m2: to infinity", tie] == "∞"
    assert cells["e4m3fnuz: to NaN", tie] == "NaN"
    assert cells["e2m1: saturate", "∞"] == "6"
    assert cells["e2m1: to NaN", "max"] == "–"
    assert cells["binary8p4se: to infinity", tie] == "224"


@pytest.mark.parametrize("name", FORMATS)
def test_the_overflow_table_is_the_same_up_to_the_policys_code(name):
    cells = formats_overflow.overflow_rows({name: FORMATS[name]})
    fates = {}
    for row in cells:
        if row["fate"] != formats_overflow.MISSING:
            fates.setdefault(row["input"], []).append(row["fate"])
    assert set(fates["max"]) == {formats_overflow.FINITE}
    assert fates["∞"][0] == formats_overflow.FINITE
    assert formats_overflow.FINITE not in fates["∞"][1:]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.3125, "0.3125"),
        (448.0, "448"),
        (-57344.0, "−57344"),
        (2.0**-9, "0.001953125"),
        (1e10, "1e10"),
        (math.inf, "∞"),
        (-0.0, "−0"),
        (math.nan, "NaN"),
    ],
)
def test_numbers_in_words(value, text):
    assert number(value) == text


def test_short_words():
    assert [glance(v) for v in (0.01367, 57344.0, 1e-7, -0.0)] == ["0.014", "57344", "1e−7", "−0"]
    assert [power_or_number(v) for v in (2.0**-9, 448.0, 1.0, 2.0**15)] == ["2⁻⁹", "448", "1", "2¹⁵"]
    assert [percent(v) for v in (0.0, 0.0001, 0.127, 0.9999, 1.0)] == [
        "0%",
        "<0.1%",
        "12.7%",
        ">99.9%",
        "100%",
    ]


@pytest.mark.parametrize("theme", INKS)
def test_every_picture_is_valid_in_both_themes(theme):
    ink = INKS[theme]
    for chart in (
        formats_bits.bits_chart(FORMATS["e4m3"], spell(FORMATS["e4m3"], 1), ink),
        strip_chart(FORMATS["e4m3"], 1, ink),
        formats_line.line_chart(ink).spec,
        formats_table.code_table(FORMATS["e4m3"], 1, ink),
        compare_chart(FORMATS, True, 500, ink),
        compare_chart(FORMATS, False, 500, ink),
        count_chart(FORMATS, 500, ink),
        formats_overflow.overflow_chart(FORMATS, ink),
        gradient_spec(theme, 500),
    ):
        json.dumps({name: part for name, part in chart.items() if name != "datasets"}, allow_nan=False)


def test_the_number_of_an_integer_field_has_its_sign():
    told = {
        code: [
            text
            for kind, role, text in zip(rows["kind"], rows["role"], rows["what"], strict=True)
            if kind == "field" and role == "I"
        ]
        for code in (0x08, 0xF8)
        for rows in [formats_bits.bit_rows(FORMATS["mxint8"], spell(FORMATS["mxint8"], code))]
    }
    assert told == {0x08: ["8"], 0xF8: ["−8"]}
