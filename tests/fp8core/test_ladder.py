"""Contract: a ladder finds the values around a number as encoding does, bit for bit."""

import numpy as np
import pytest

from fp8core.experiments.pictures import Levels
from fp8core.formats import FORMATS
from fp8core.ladder import ladder
from fp8core.rounding import Rounding
from fp8core.stochastic import neighbors

GRIDS = {**FORMATS, "2 levels": Levels(2), "7 levels": Levels(7)}
WITH_LADDER = [name for name, grid in GRIDS.items() if ladder(grid) is not None]


def samples(name: str) -> np.ndarray:
    """Values, middles, their neighbors in float64, the ends of the range and numbers of many sizes."""
    steps = ladder(GRIDS[name]).steps[:2000]
    middles = (steps[1:] + steps[:-1]) / 2
    beside = [np.nextafter(steps, np.inf), np.nextafter(steps, 0), np.nextafter(middles, 0)]
    spread = 2.0 ** np.random.default_rng(0).uniform(-20, 10, 1000)
    ends = [5e-324, 1e-310, GRIDS[name].max, 1.01 * GRIDS[name].max, 1e300]
    sizes = np.abs(np.concatenate([steps, middles, *beside, spread, ends]))
    return sizes if isinstance(GRIDS[name], Levels) else np.concatenate([sizes, -sizes])


@pytest.mark.parametrize("name", WITH_LADDER)
def test_a_number_lies_between_the_value_it_is_cut_off_to_and_the_next_one(name):
    grid, x = GRIDS[name], samples(name)
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


@pytest.mark.parametrize("name", ["e8m0", "fp32"])
def test_a_format_without_zero_or_with_too_many_values_has_none_and_is_rounded_all_the_same(name):
    assert ladder(FORMATS[name]) is None
    around = neighbors(FORMATS[name], np.array([1.0, 2.0]))
    np.testing.assert_array_equal(around.low, [1.0, 2.0])
