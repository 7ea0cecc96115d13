"""The pictures of the page "Formats" are valid in both themes, and its numbers are written as they are."""

import json
import math

import pytest

from fp8core.formats import FORMATS
from fp8core.formats.spelling import spell
from pages.formats.charts.bits import bits_chart
from pages.formats.charts.compare import compare_chart, count_chart, splits_chart
from pages.formats.charts.line import line_chart, line_rows, strip_chart
from pages.formats.charts.overflow import overflow_chart
from pages.formats.charts.table import code_table
from pages.formats.charts.words import glance, number, percent, power_or_number
from pages.formats.compare import split_rows
from pages.formats.gradients import gradient_spec
from pages.kit.charts.ink import INKS


@pytest.mark.parametrize("theme", INKS)
def test_every_picture_is_valid_in_both_themes(theme):
    e4m3, ink = FORMATS["e4m3"], INKS[theme]
    for chart in (
        bits_chart(e4m3, spell(e4m3, 1), ink),
        strip_chart(e4m3, 1, ink),
        line_chart(line_rows(e4m3, 1, None), ink),
        code_table(e4m3, 1, ink),
        compare_chart(FORMATS, True, 500, ink),
        compare_chart(FORMATS, False, 500, ink),
        count_chart(FORMATS, 500, ink),
        splits_chart(split_rows(), ink),
        overflow_chart(FORMATS, ink),
        gradient_spec(theme, 500),
    ):
        json.dumps({name: part for name, part in chart.items() if name != "datasets"}, allow_nan=False)


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
    shares = (0.0, 0.0001, 0.127, 0.9999, 1.0)
    assert [percent(share) for share in shares] == ["0%", "<0.1%", "12.7%", ">99.9%", "100%"]
