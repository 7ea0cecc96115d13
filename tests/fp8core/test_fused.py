"""Contract: the reciprocal root mean square is within two units of its last place, in whatever order."""

from fractions import Fraction

import numpy as np
import pytest

from fp8core.formats import FORMATS
from fp8core.fused import multiply_add, reciprocal_rms, rms_norm, sigmoid, swiglu, swiglu_backward
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
    result = reciprocal_rms(x, 1e-6)
    assert (np.abs(result - exact) <= 2 * np.spacing(exact.astype(np.float32))).all()


def test_runs_in_another_order_have_the_same_sum():
    x = drawn((4, 90 * RUN), 10)
    other_order = x.reshape(4, 90, RUN)[:, np.random.default_rng(1).permutation(90)].reshape(x.shape)
    np.testing.assert_array_equal(reciprocal_rms(x, 0.0), reciprocal_rms(other_order, 0.0))
    assert (np.sort(x) == np.sort(other_order)).all()


def test_the_largest_row_does_not_overflow_the_whole_numbers():
    x = np.full((1, MOST_COLUMNS), 1.9921875, np.float32)
    assert reciprocal_rms(x, 0.0) == np.float32(1 / 1.9921875)


def test_zeros_and_broken_rows():
    x = np.ones((3, 20), np.float32)
    x[0], x[1, 3], x[2, 4] = 0, np.nan, np.inf
    result = reciprocal_rms(x, 0.25)
    assert result[0] == 2
    assert np.isnan(result[1])
    assert result[2] == 0
    assert np.isnan(rms_norm(x, np.ones(20), 0.25)[2, 4])


EVERY = (np.arange(1 << 16, dtype=np.uint32) << 16).view(np.float32)
"""Every bf16 number."""
GATES = EVERY[np.isfinite(EVERY) & (np.abs(EVERY) < 80)]


def exact_sigmoid(gate):
    return 1 / (1 + np.exp(-gate.astype(np.float64)))


def test_the_sigmoid_is_within_four_units_of_its_last_place_up_to_eight():
    near = GATES[np.abs(GATES) < 8]
    exact = exact_sigmoid(near)
    assert (np.abs(sigmoid(near) - exact) / np.spacing(exact.astype(np.float32))).max() < 4
    assert sigmoid(0) == np.float32(0.5)
    assert sigmoid(200) == 1


def test_silu_of_every_bf16_gate_is_the_nearest_bf16_number():
    result = swiglu(np.stack([GATES, np.ones_like(GATES)], axis=1))[:, 0]
    exact = GATES * exact_sigmoid(GATES)
    normal = np.abs(exact) >= FORMATS["bf16"].min_normal
    np.testing.assert_array_equal(result[normal], bf16(exact)[normal])


def test_gradients_are_those_of_the_function():
    dice = np.random.default_rng(0)
    gate, up, dh = (bf16(3 * dice.standard_normal((40, 70))) for _ in range(3))
    share = exact_sigmoid(gate)
    of_gate = dh.astype(np.float64) * up * share * (1 + gate * (1 - share))
    exact = np.concatenate([of_gate, dh.astype(np.float64) * gate * share], axis=1)
    result = swiglu_backward(dh, np.concatenate([gate, up], axis=1))
    assert (np.abs(result - exact) <= np.spacing(np.abs(exact).astype(BF16)).astype(np.float64)).all()


def test_no_neighbor_of_the_result_is_nearer():
    dice = np.random.default_rng(0)
    a, b, c = (dice.standard_normal(2000).astype(np.float32) for _ in range(3))
    c *= np.exp2(dice.integers(-30, 30, c.shape)).astype(np.float32)
    results = multiply_add(a, b, c)
    lower, upper = np.nextafter(results, np.float32(-np.inf)), np.nextafter(results, np.float32(np.inf))
    for numbers in zip(a, b, c, results, lower, upper, strict=True):
        one, other, addend, result, *neighbors = (Fraction(float(number)) for number in numbers)
        exact = one * other + addend
        assert all(abs(result - exact) <= abs(neighbor - exact) for neighbor in neighbors)


def test_what_float64_takes_for_a_tie_is_none():
    """Half of the last place of 1 + 2**-23, less 2**-64: float64 drops that, and the tie would go up."""
    factors = (np.float32(2.0**-12 * (1 + sign * 2.0**-20)) for sign in (1, -1))
    assert multiply_add(*factors, 1 + 2.0**-23) == np.float32(1 + 2.0**-23)
