"""Contract: facts are what the model is known to do."""

import pytest

from pages.kit.lesson.facts import fact


def test_longer_sums_cut_a_larger_share_of_the_products():
    short, long = ({"sum_k": k} for k in (64, 512))
    assert fact("accumulation.cut_share", short) == fact("accumulation.cut_count", short) / 64
    assert fact("accumulation.cut_share", long) > 5 * fact("accumulation.cut_share", short)


def test_the_cut_pulls_sums_of_one_sign_toward_zero_by_the_measured_share():
    assert fact("accumulation.chain_side", {}) == "small"
    assert fact("accumulation.chain_side", {"terms": "zero_mean"}) == "both"
    assert fact("accumulation.chain_bias", {}) == pytest.approx(0.066, rel=0.02)


def test_promotion_takes_the_error_away_for_one_addition_in_256_flop():
    assert fact("accumulation.promoted_error", {}) < fact("accumulation.chain_error", {}) / 100
    percent = 100 * fact("accumulation.promoted_error", {})
    assert fact("accumulation.promoted_percent", {}) == pytest.approx(percent)
    assert fact("accumulation.promotion_price", {}) == pytest.approx(1000 / 256)
