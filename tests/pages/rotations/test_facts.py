"""Facts of the page "Rotations" against what is known of a Hadamard rotation."""

import math

import pytest

from pages.kit.lesson.facts import fact

ALONE = {"rotations_size": "256", "rotations_rest": "zero", "rotations_magnitude": 32}


def test_a_lone_outlier_is_divided_by_the_root_of_the_size():
    assert fact("rotations.amax", ALONE) == 32
    assert fact("rotations.rotated_amax", ALONE) == pytest.approx(32 / math.sqrt(256))


def test_rotating_helps_four_bits_with_one_scale_and_hurts_eight_bits():
    one_scale = {"rotations_size": "256", "rotations_tile": "whole", "rotations_magnitude": 32}
    assert fact("rotations.error_gain", one_scale) > 5
    assert fact("rotations.rotated_zeros_share", one_scale) < 0.1 < fact("rotations.zeros_share", one_scale)
    eight_bits = one_scale | {"rotations_format": "e4m3"}
    assert min(fact(f"rotations.{name}_ratio", eight_bits) for name in ("error", "rest")) > 2


def test_two_rotations_cancel_in_the_product():
    assert fact("rotations.product_moved", {"rotations_size": "256"}) < 1e-10
