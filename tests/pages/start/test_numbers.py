"""The tile of Start against ml_dtypes."""

import ml_dtypes
import numpy as np
import pytest

from pages.start.numbers import COUNT, EIGHT, tile

E4M3 = ml_dtypes.float8_e4m3fn


@pytest.mark.parametrize("power", [-24, -12, -9, 0, 8])
def test_without_a_scale_a_number_is_rounded_as_ml_dtypes_has_it(power):
    found = tile(power)
    inside = np.clip(found.numbers, -EIGHT.max, EIGHT.max)
    assert np.array_equal(found.plain, inside.astype(np.float32).astype(E4M3).astype(np.float64))
    assert found.zeros_plain == int((found.plain == 0).sum())


def test_a_scale_makes_the_size_of_the_numbers_irrelevant():
    assert np.array_equal(tile(-24).scaled_codes, tile(12).scaled_codes)
    assert tile(-24).zeros_plain == COUNT
    assert tile(-24).zeros_scaled == tile(12).zeros_scaled == 0
    assert tile(12).is_beyond.any()
    assert np.abs(tile(-24).scaled).max() == pytest.approx(tile(-24).scale * EIGHT.max)


def test_a_scale_keeps_each_number_within_half_a_step():
    found = tile(-12)
    half_step = 2.0 ** -(EIGHT.mantissa_bits + 1)
    normal = np.abs(found.numbers) >= found.scale * EIGHT.min_normal
    off = np.abs(found.scaled / found.numbers - 1)
    assert normal.any()
    assert off[normal].max() <= half_step * (1 + 1e-5)
