"""Contract: a bias stays however many terms there are; noise falls as 1/√K against terms of one sign."""

import math

import ml_dtypes
import numpy as np
import pytest

from fp8core.experiments.dot_noise import dot_errors, nearest_shrinkage, rounded
from fp8core.formats import FORMATS
from fp8core.stochastic import MAX_RANDOM_BITS

TERMS = np.array([4, 64, 1024])


def operands(name: str, trials: int = 200) -> tuple:
    rng, shape = np.random.default_rng(0), (trials, int(TERMS[-1]))
    pair = [
        rounded(
            FORMATS[name], np.abs(rng.standard_normal(shape)), rng.integers(0, 1 << MAX_RANDOM_BITS, shape)
        )
        for _ in range(2)
    ]
    return *pair, *(x.signed(rng.choice((-1.0, 1.0), shape)) for x in pair)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("e2m1", ml_dtypes.float4_e2m1fn), ("e3m2", ml_dtypes.float6_e3m2fn), ("e4m3", ml_dtypes.float8_e4m3fn)],
)
def test_the_shrinkage_is_the_integral_of_the_rounded_density(name, dtype):
    z = (np.arange(400_000) + 0.5) / 400_000 * 6
    density = np.exp(-(z**2) / 2)
    q = z.astype(np.float32).astype(dtype).astype(np.float64)
    assert nearest_shrinkage(FORMATS[name]) == pytest.approx(q @ density / (z @ density), abs=3e-6)


def test_errors_are_rms_of_error_over_rms_of_the_exact_result():
    a, b, *_ = operands("e4m3", trials=5)
    ours = dot_errors(a, b, np.array([3]))
    exact = [sum(x * y for x, y in zip(a.exact[i, :3], b.exact[i, :3], strict=True)) for i in range(5)]
    got = [sum(x * y for x, y in zip(a.nearest[i, :3], b.nearest[i, :3], strict=True)) for i in range(5)]
    squares = sum((g - e) ** 2 for g, e in zip(got, exact, strict=True))
    assert ours.nearest[0] == pytest.approx(math.sqrt(squares / sum(e**2 for e in exact)))


def test_one_sign_nearest_ends_at_its_bias_and_noise_falls_as_the_root_of_k():
    a, b, *_ = operands("e2m1")
    errors = dot_errors(a, b, TERMS)
    floor = 1 - nearest_shrinkage(FORMATS["e2m1"]) ** 2
    assert errors.nearest[-1] == pytest.approx(floor, rel=0.15)
    assert errors.stochastic[1] / errors.stochastic[2] == pytest.approx(4, rel=0.2)
    assert errors.stochastic[-1] < errors.nearest[-1] / 1.5
    assert errors.stochastic[0] > errors.nearest[0]


@pytest.mark.parametrize("name", ["e2m1", "e4m3", "bf16"])
def test_signs_that_cancel_leave_nearest_ahead_at_every_k(name):
    *_, a, b = operands(name)
    errors = dot_errors(a, b, TERMS)
    assert (errors.stochastic > errors.nearest * 1.1).all()
    np.testing.assert_allclose(errors.nearest, errors.nearest.mean(), rtol=0.2)
