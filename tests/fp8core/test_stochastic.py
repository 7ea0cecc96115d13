"""Contract: moments equal those of enumerating all 2**N random values; representable values never move."""

import numpy as np
import pytest

from fp8core.experiments.pictures import levels
from fp8core.formats import FORMATS
from fp8core.ladder import ladder
from fp8core.rounding import Rounding
from fp8core.stochastic import Debias, chances, moments, neighbors, round_stochastic

by_format = pytest.mark.parametrize("name", ["e2m1", "e4m3", "e5m2", "bf16", "hif8", "e4m3fnuz"])
by_debias = pytest.mark.parametrize("debias", Debias)


def samples(name: str) -> np.ndarray:
    format_ = FORMATS[name]
    rng = np.random.default_rng(0)
    spread = rng.standard_normal(40) * 2.0 ** rng.integers(-8, 2, 40)
    return np.concatenate([spread, [0.3, -0.3, 0.0, format_.max, -format_.max, 10 * format_.max, 1 / 3]])


@by_format
@by_debias
@pytest.mark.parametrize("bits", [1, 4, 8])
def test_moments_are_those_of_all_random_values(name, debias, bits) -> None:
    x = samples(name)
    every = np.arange(1 << bits)[:, None]
    draws = round_stochastic(FORMATS[name], x, every, bits, debias)
    exact = moments(FORMATS[name], x, bits, debias)
    np.testing.assert_allclose(draws.mean(axis=0), exact.mean, rtol=1e-12, atol=0)
    np.testing.assert_allclose(draws.var(axis=0), exact.variance, rtol=1e-9, atol=1e-18)


@pytest.mark.parametrize("name", ["e2m1", "e4m3", "bf16", "fp32", "e4m3fnuz", "mxint8", "hif8"])
@pytest.mark.parametrize("random", [0, 128, 255])
def test_a_draw_is_the_value_of_the_code_that_encoding_draws_down_to_the_sign_of_zero(name, random) -> None:
    format_, least = FORMATS[name], FORMATS[name].min_subnormal
    x = np.array([0.0, least / 8, least / 2, 0.7 * least, least, 1.3, format_.max, 2 * format_.max])
    x = np.concatenate([x, -x])
    noise = np.full(x.shape, random / 256)
    codes = format_.encode(x, Rounding.STOCHASTIC, noise=noise)
    draws = round_stochastic(format_, x, np.array(random), 8)
    np.testing.assert_array_equal(draws.view(np.int64), format_.decode(codes).view(np.int64))


def test_variants_differ_only_in_what_lies_below_the_random_bits() -> None:
    assert [int(chances(2.5 / 4, 2, d)) for d in Debias] == [2, 3, 2]
    assert [int(chances(3.5 / 4, 2, d)) for d in Debias] == [3, 4, 4]
    assert [int(chances(0.75, 2, d)) for d in Debias] == [3, 3, 3]
    with pytest.raises(ValueError, match="from 1 to 24, got 0"):
        chances(0.5, 0)


GRIDS = {**FORMATS, "2 levels": levels(2), "7 levels": levels(7)}
WITH_LADDER = [name for name, grid in GRIDS.items() if ladder(grid) is not None]


def ladder_samples(name: str) -> np.ndarray:
    """Values, middles, their neighbors in float64, the ends of the range and numbers of many sizes."""
    steps = ladder(GRIDS[name]).steps[:2000]
    middles = (steps[1:] + steps[:-1]) / 2
    beside = [np.nextafter(steps, np.inf), np.nextafter(steps, 0), np.nextafter(middles, 0)]
    spread = 2.0 ** np.random.default_rng(0).uniform(-20, 10, 1000)
    ends = [5e-324, 1e-310, GRIDS[name].max, 1.01 * GRIDS[name].max, 1e300]
    sizes = np.abs(np.concatenate([steps, middles, *beside, spread, ends]))
    return sizes if name.endswith("levels") else np.concatenate([sizes, -sizes])


@pytest.mark.parametrize("name", WITH_LADDER)
def test_a_number_lies_between_the_value_it_is_cut_off_to_and_the_next_one(name):
    grid, x = GRIDS[name], ladder_samples(name)
    around = neighbors(grid, x)
    low = grid.decode(grid.encode(x, Rounding.TOWARD_ZERO))
    np.testing.assert_array_equal(around.low, low)
    np.testing.assert_array_equal(np.signbit(around.low), np.signbit(low))
    values = np.unique(grid.values[np.isfinite(grid.values)])
    at = np.searchsorted(values, low)
    beyond = np.clip(np.where(x > 0, at + 1, at - 1), 0, values.size - 1)
    high = np.where(np.abs(low) < np.abs(x), values[beyond], low)
    np.testing.assert_array_equal(around.high, high)
    gap = np.where(high == low, 1.0, np.abs(high - low))
    np.testing.assert_array_equal(around.fraction, np.where(high == low, 0.0, np.abs(x - low) / gap))
