"""Contract: a bias stays however many terms there are; noise falls as 1/√K against terms of one sign."""

import math

import ml_dtypes
import numpy as np
import pytest

from fp8core.experiments.dot_noise import Unrounded, dot_errors, nearest_shrinkage, noise_ratio, rounded
from fp8core.formats import FORMATS
from fp8core.stochastic import MAX_RANDOM_BITS, round_stochastic

TERMS = np.array([4, 64, 1024])


def operands(trials: int = 200) -> tuple[Unrounded, Unrounded, np.ndarray]:
    """Two operands, and signs for their products."""
    rng, shape = np.random.default_rng(0), (trials, int(TERMS[-1]))
    a, b = (
        Unrounded(x=np.abs(rng.standard_normal(shape)), random=rng.integers(0, 1 << MAX_RANDOM_BITS, shape))
        for _ in "ab"
    )
    return a, b, rng.choice((-1.0, 1.0), shape)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("e2m1", ml_dtypes.float4_e2m1fn), ("e3m2", ml_dtypes.float6_e3m2fn), ("e4m3", ml_dtypes.float8_e4m3fn)],
)
def test_the_shrinkage_is_the_integral_of_the_rounded_density(name, dtype):
    z = (np.arange(400_000) + 0.5) / 400_000 * 6
    density = np.exp(-(z**2) / 2)
    q = z.astype(np.float32).astype(dtype).astype(np.float64)
    assert nearest_shrinkage(FORMATS[name]) == pytest.approx(q @ density / (z @ density), abs=3e-6)


@pytest.mark.parametrize("name", ["e2m1", "bf16", "hif8", "mxint8"])
def test_both_roundings_are_those_of_the_format(name):
    format_, rng = FORMATS[name], np.random.default_rng(1)
    values = format_.values[:100]
    ties = (values[1:] + values[:-1]) / 2
    x = np.abs(np.concatenate([ties[np.isfinite(ties)], 3 * rng.standard_normal(500)]))
    random = rng.integers(0, 1 << MAX_RANDOM_BITS, x.shape)
    found = rounded(format_, x, random)
    np.testing.assert_array_equal(found.nearest, format_.decode(format_.encode(x)))
    np.testing.assert_array_equal(found.stochastic, round_stochastic(format_, x, random, MAX_RANDOM_BITS))


@pytest.mark.parametrize("trials", [1, 5])
def test_errors_are_rms_of_error_over_rms_of_the_exact_result(trials):
    a, b, signs = operands(trials)
    ours = dot_errors(FORMATS["e4m3"], a, b, np.array([3, 7]), [signs, None])
    near = [rounded(FORMATS["e4m3"], one.x, one.random).nearest for one in (a, b)]
    for errors, sign in zip(ours, (signs, np.ones_like(signs)), strict=True):
        for place, terms in enumerate((3, 7)):
            exact = (sign * a.x * b.x)[:, :terms].sum(axis=1)
            got = (sign * near[0] * near[1])[:, :terms].sum(axis=1)
            expected = math.sqrt(((got - exact) ** 2).sum() / (exact**2).sum())
            assert errors.nearest[place] == pytest.approx(expected)


def test_one_sign_nearest_ends_at_its_bias_and_noise_falls_as_the_root_of_k():
    a, b, _ = operands()
    (errors,) = dot_errors(FORMATS["e2m1"], a, b, TERMS)
    floor = 1 - nearest_shrinkage(FORMATS["e2m1"]) ** 2
    assert errors.nearest[-1] == pytest.approx(floor, rel=0.15)
    assert errors.stochastic[1] / errors.stochastic[2] == pytest.approx(4, rel=0.2)
    assert errors.stochastic[-1] < errors.nearest[-1] / 1.5
    assert errors.stochastic[0] > errors.nearest[0]


@pytest.mark.parametrize("name", ["e2m1", "e4m3", "bf16"])
def test_signs_that_cancel_leave_nearest_ahead_at_every_k(name):
    a, b, signs = operands()
    (errors,) = dot_errors(FORMATS[name], a, b, TERMS, [signs])
    assert (errors.stochastic > errors.nearest * 1.1).all()
    np.testing.assert_allclose(errors.nearest, errors.nearest.mean(), rtol=0.2)


@pytest.mark.parametrize("name", ["e2m1", "e4m3"])
def test_the_ratio_of_noise_is_that_of_many_dot_products_of_any_length(name):
    (errors,) = dot_errors(FORMATS[name], *operands(600)[:2], np.array([1, 8, 64]), [operands(600)[2]])
    assert errors.stochastic / errors.nearest == pytest.approx(noise_ratio(FORMATS[name]), rel=0.15)
