"""Contract: the reciprocal root mean square is within two units of its last place, in whatever order."""

import numpy as np
import pytest

from fp8core.formats import FORMATS
from fp8core.fused import reciprocal_rms, rms_norm
from fp8core.fused.rms_norm import MOST_COLUMNS, RUN

BF16 = FORMATS["bf16"].ml_dtype


def bf16(x):
    return x.astype(BF16).astype(np.float32)


def drawn(shape, spread=0):
    dice = np.random.default_rng(0)
    return bf16(dice.standard_normal(shape) * np.exp2(dice.integers(-spread, spread + 1, shape)))


@pytest.mark.parametrize("spread", [0, 20])
def test_it_is_that_of_float64(spread):
    x = drawn((20, 700), spread)
    exact = 1 / np.sqrt(np.mean(x.astype(np.float64) ** 2, axis=1) + 1e-6)
    found = reciprocal_rms(x, 1e-6)
    assert (np.abs(found - exact) <= 2 * np.spacing(exact.astype(np.float32))).all()


def test_runs_in_another_order_have_the_same_sum():
    x = drawn((4, 90 * RUN), 10)
    turned = x.reshape(4, 90, RUN)[:, np.random.default_rng(1).permutation(90)].reshape(x.shape)
    np.testing.assert_array_equal(reciprocal_rms(x, 0.0), reciprocal_rms(turned, 0.0))
    assert (np.sort(x) == np.sort(turned)).all()


def test_the_largest_row_does_not_overflow_the_whole_numbers():
    x = np.full((1, MOST_COLUMNS), 1.9921875, np.float32)
    assert reciprocal_rms(x, 0.0) == np.float32(1 / 1.9921875)


def test_zeros_and_broken_rows():
    x = np.ones((3, 20), np.float32)
    x[0], x[1, 3], x[2, 4] = 0, np.nan, np.inf
    found = reciprocal_rms(x, 0.25)
    assert found[0] == 2
    assert np.isnan(found[1])
    assert found[2] == 0
    assert np.isnan(rms_norm(x, np.ones(20), 0.25)[2, 4])
