"""Facts of the page "Stochastic rounding" against arithmetic by hand."""

import math

import pytest

from pages.kit.lesson.facts import fact


def test_a_weight_of_bf16_stands_still_below_half_a_gap():
    bf16 = {"part": "weight", "weight": "bf16"}
    assert fact("stochastic.nearest_end", bf16) == 1
    assert fact("stochastic.half_gap", bf16) == 2.0**-9
    assert fact("stochastic.half_gap", bf16 | {"weight": "fp16"}) == 0
    assert fact("stochastic.exact_end", bf16) == pytest.approx(1 - 1000 * fact("stochastic.update", bf16))


def test_random_bits_bound_the_error_of_the_mean():
    for bits in (1, 4, 8):
        assert fact("stochastic.noisy_bias", {"random_bits": bits}) == pytest.approx(2.0**-bits, rel=0.02)


def test_the_mean_of_the_picture_is_kept():
    light = fact("stochastic.light", {})
    assert fact("stochastic.noisy_light", {}) == pytest.approx(light, abs=0.005)
    assert fact("stochastic.nearest_light", {}) < light / 10


def test_nearest_wins_where_signs_cancel():
    assert fact("stochastic.winner_of_both_signs", {}) == "nearest"
    assert fact("stochastic.loser_ratio", {}) > 1


def test_the_ratio_of_the_errors_is_that_of_all_seeds_and_near_the_root_of_two():
    """A third of a squared step against a sixth: fractions of a step are nearly uniform."""
    told = fact("stochastic.loser_ratio", {})
    assert told == fact("stochastic.loser_ratio", {"seed": 1}) == pytest.approx(math.sqrt(2), rel=0.02)
