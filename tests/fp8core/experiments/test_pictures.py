"""Contract: pictures round as light, a blur keeps the mean, noise gives the light of each pixel."""

import math

import numpy as np
import pytest

from fp8core.experiments.pictures import blur, levels, round_nearest, round_noisy, to_bytes, to_light
from fp8core.formats import FORMATS
from fp8core.stochastic import MAX_RANDOM_BITS

RNG = np.random.default_rng(0)
PICTURE = RNG.random((20, 30))


def test_every_byte_survives_the_way_to_light_and_back():
    every = np.arange(256)
    np.testing.assert_array_equal(to_bytes(to_light(every)), every)


@pytest.mark.parametrize("count", [2, 3, 5, 16])
def test_levels_are_equal_steps_and_ties_go_to_the_even_one(count):
    ours = round_nearest(PICTURE, levels(count))
    np.testing.assert_allclose(ours, np.rint(PICTURE * (count - 1)) / (count - 1), atol=1e-15)
    assert round_nearest(np.array([[0.5 / (count - 1)]]), levels(count)) == 0


@pytest.mark.parametrize(
    "grid", [levels(2), levels(4), FORMATS["e2m1"], FORMATS["e4m3"]], ids=lambda grid: grid.name
)
def test_white_and_black_stay_and_every_pixel_gets_a_neighbor(grid):
    random = RNG.integers(0, 1 << MAX_RANDOM_BITS, PICTURE.shape)
    noisy = round_noisy(PICTURE, grid, random)
    values = np.unique(np.abs(grid.values[np.isfinite(grid.values)])) / grid.max
    above = np.searchsorted(values, PICTURE)
    assert ((noisy == values[above]) | (noisy == values[above - 1])).all()
    ends = np.array([[0.0, 1.0]])
    np.testing.assert_array_equal(round_noisy(ends, grid, np.array([[0, (1 << MAX_RANDOM_BITS) - 1]])), ends)


def test_over_all_random_values_a_pixel_is_white_as_often_as_its_light_says():
    random = np.arange(0, 1 << MAX_RANDOM_BITS, 1 << 10)[None]
    shares = [round_noisy(np.full(random.shape, x), levels(2), random).mean() for x in (0.1, 0.3, 0.77)]
    np.testing.assert_allclose(shares, (0.1, 0.3, 0.77), atol=2.0**-14)


def test_a_blur_keeps_a_flat_picture_and_spreads_a_point_as_a_gaussian():
    np.testing.assert_allclose(blur(np.full((9, 7), 0.3), 2.5), 0.3, rtol=1e-14)
    point = np.zeros((61, 61))
    point[30, 30] = 1
    spread = blur(point, 3)
    assert spread.sum() == pytest.approx(1)
    assert spread[30, 33] / spread[30, 30] == pytest.approx(math.exp(-0.5))
    assert blur(PICTURE, 0) is PICTURE
