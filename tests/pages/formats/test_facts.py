"""Facts of the page "Formats" against ml_dtypes and counts by hand."""

import ml_dtypes
import numpy as np
import pytest

from pages.kit.lesson.facts import fact

ALL = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64)


def test_the_shares_of_e4m3_are_those_of_its_codes():
    positive = ALL[np.isfinite(ALL) & (ALL > 0)]
    assert fact("formats.share_below_one", {"compared": ["e4m3", "e5m2"]}) == (positive < 1).mean()
    assert fact("formats.number_count", {}) == np.unique(ALL[np.isfinite(ALL)]).size
    assert fact("formats.special_codes", {"overflowing": ["e4m3"]}) == np.isnan(ALL).sum()


def test_a_number_rounds_as_ml_dtypes_has_it():
    expected = float(np.float32(0.001).astype(ml_dtypes.float8_e4m3fn))
    assert fact("formats.rounded", {"number": "0.001"}) == expected
    assert fact("formats.rounded_ratio", {"number": "0.001"}) == pytest.approx(expected / 0.001)


def test_the_worst_error_is_that_of_some_number():
    x = np.linspace(1, 2, 10_001, dtype=np.float32)
    worst = (np.abs(x.astype(ml_dtypes.float8_e4m3fn).astype(np.float64) - x) / x).max()
    assert fact("formats.worst_error", {}) == pytest.approx(worst, rel=1e-3)


def test_binades_between_the_two_ends_have_equally_many_numbers_and_no_others_do():
    positive = ALL[np.isfinite(ALL) & (ALL > 0)]
    exponents, counts = np.unique(np.floor(np.log2(positive)), return_counts=True)
    settings = {"compared": ["e4m3"]}
    full = exponents[counts == fact("formats.values_per_binade", settings)]
    assert fact("formats.even_from", settings) == 2.0 ** full.min()
    assert fact("formats.even_to", settings) == 2.0 ** (full.max() + 1)
    assert full.size == full.max() - full.min() + 1 == exponents.size - len([1, 2, 4, 7])
    assert counts[[0, 1, 2, -1]].tolist() == [1, 2, 4, 7]
