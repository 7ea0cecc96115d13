"""Numbers in words: a printed column adds up to its printed sum."""

from fractions import Fraction

import numpy as np
import pytest

from pages.kit.charts.words import bytes_text, column, duration, percent_text, short


def printed(text: str) -> Fraction:
    """The exact number that a text writes."""
    return Fraction(text.replace("−", "-").replace(",", ""))


@pytest.mark.parametrize("size", [1e-40, 1e-5, 0.01, 1.0, 3e4, 9.99999e6, 1e7, 1e30])
def test_a_printed_column_adds_up_to_its_printed_sum(size):
    for seed in range(20):
        values = size * np.random.default_rng(seed).uniform(-1, 1, 9) * 2.0 ** np.arange(0, -9, -1)
        texts, total = column(values.tolist())
        assert sum(map(printed, texts)) == printed(total)
        assert abs(float(printed(total)) - values.sum()) <= 1e-3 * abs(values).max()
        assert all(len(text) <= len("−9,999,999.0") for text in texts)


@pytest.mark.parametrize("digits", [1, 2, 3, 4])
def test_no_number_below_ten_million_is_written_with_a_power_of_ten(digits):
    edges = [10.0**power * off for power in range(7) for off in (0.994, 0.9996, 0.99996, 1.0, 1.0004, 5.5)]
    for size in edges:
        for text in (short(size, digits), percent_text(size / 100, digits), duration(size), bytes_text(size)):
            assert "e" not in text, (size, text)
        tolerance = 0.5 * 10.0 ** (1 - digits)
        assert float(printed(short(-size, digits))) == pytest.approx(-size, rel=1.001 * tolerance)


def test_what_is_a_little_less_than_all_is_not_written_as_all():
    assert [percent_text(share, 2) for share in (0.9958, 1.0, 0.5)] == ["99.58%", "100%", "50%"]


def test_a_column_of_zeros_or_with_a_nan_is_printed():
    assert column([0.0, 0.0]) == (["0", "0"], "0")
    assert column([1.0, float("nan")])[1] == "nan"
    assert column([]) == ([], "0")
