"""Contract: over a gap nearest has rms 1/√12 of a step, stochastic 1/√6, and the bias N bits leave."""

import math

import ml_dtypes
import numpy as np
import pytest

from fp8core.experiments.dot_noise import Unrounded, dot_errors, nearest_shrinkage, noise_ratio, rounded
from fp8core.experiments.rounding_sweep import nearest_error, noisy_error, sweep, values_around
from fp8core.experiments.scaled_run import LOG2_SCALES, STEPS, scaled_runs
from fp8core.experiments.weight_updates import Pull, gradient, walk
from fp8core.formats import FORMATS
from fp8core.rounding import Overflow
from fp8core.stochastic import MAX_RANDOM_BITS, Debias, round_stochastic


@pytest.mark.parametrize(
    ("name", "center", "values"),
    [
        ("e2m1", 2.0, [1, 1.5, 2, 3, 4]),
        ("e2m1", 0.0, [0, 0.5, 1, 1.5, 2]),
        ("e2m1", 6.0, [2, 3, 4, 6]),
        ("e4m3", 2.0, [1.75, 1.875, 2, 2.25, 2.5]),
        ("mxint8", 2.0, [1.953125, 1.96875, 1.984375]),
        ("bf16", 1.0, [1 - 2**-7, 1 - 2**-8, 1, 1 + 2**-7, 1 + 2**-6]),
    ],
)
def test_the_values_around_a_number_are_its_neighbors_in_the_format(name, center, values):
    assert values_around(FORMATS[name], center, len(values) - 1).tolist() == values


@pytest.mark.parametrize("name", ["e2m1", "e4m3", "hif8", "bf16"])
@pytest.mark.parametrize("debias", Debias)
def test_errors_have_their_closed_forms(name, debias):
    s = sweep(FORMATS[name], values_around(FORMATS[name], 2.0, 4), 1000, 8, debias)
    nearest, noisy = nearest_error(s), noisy_error(s)
    assert nearest.rms == pytest.approx(1 / math.sqrt(12), rel=1e-4)
    assert noisy.rms == pytest.approx(1 / math.sqrt(6), rel=1e-3)
    assert nearest.worst_bias == pytest.approx(0.5, rel=2e-3)
    dropped = debias is Debias.TRUNCATE
    assert noisy.mean == pytest.approx(-(2.0**-9) if dropped else 0, abs=2e-5)
    assert 0.9 < noisy.worst_bias / 2.0 ** (-8 if dropped else -9) <= 1


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
    pair = rounded(format_, x, random)
    np.testing.assert_array_equal(pair.nearest, format_.decode(format_.encode(x)))
    np.testing.assert_array_equal(pair.stochastic, round_stochastic(format_, x, random, MAX_RANDOM_BITS))


@pytest.mark.parametrize("trials", [1, 5])
def test_errors_are_rms_of_error_over_rms_of_the_exact_result(trials):
    a, b, signs = operands(trials)
    ours = dot_errors(FORMATS["e4m3"], a, b, np.array([3, 7]), [signs, None])
    near = [rounded(FORMATS["e4m3"], one.x, one.random).nearest for one in (a, b)]
    for errors, sign in zip(ours, (signs, np.ones_like(signs)), strict=True):
        for place, terms in enumerate((3, 7)):
            exact = (sign * a.x * b.x)[:, :terms].sum(axis=1)
            sums = (sign * near[0] * near[1])[:, :terms].sum(axis=1)
            expected = math.sqrt(((sums - exact) ** 2).sum() / (exact**2).sum())
            assert errors.nearest[place] == pytest.approx(expected)


def test_one_sign_nearest_ends_at_its_bias_and_noise_falls_as_the_root_of_k():
    a, b, _ = operands()
    (errors,) = dot_errors(FORMATS["e2m1"], a, b, TERMS)
    floor = 1 - nearest_shrinkage(FORMATS["e2m1"]) ** 2
    assert errors.nearest[-1] == pytest.approx(floor, rel=0.15)
    assert errors.stochastic[1] / errors.stochastic[2] == pytest.approx(4, rel=0.2)
    assert errors.stochastic[-1] < errors.nearest[-1] / 1.5
    assert errors.stochastic[0] > errors.nearest[0]


@pytest.mark.parametrize("name", ["e2m1", "e4m3"])
def test_the_ratio_of_noise_is_that_of_many_dot_products_of_any_length(name):
    (errors,) = dot_errors(FORMATS[name], *operands(600)[:2], np.array([1, 8, 64]), [operands(600)[2]])
    assert errors.stochastic / errors.nearest == pytest.approx(noise_ratio(FORMATS[name]), rel=0.15)


BITS = 8


def random(steps: int, runs: int = 3) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 1 << BITS, (steps, runs))


@pytest.mark.parametrize("name", ["e2m1", "e4m3", "bf16", "fp16", "hif8"])
@pytest.mark.parametrize("pull", Pull)
@pytest.mark.parametrize("lr", [0.1, 0.003])
def test_a_walk_is_the_update_rounded_at_every_step(name, pull, lr):
    format_, noise = FORMATS[name], random(60)
    w = walk(format_, 1.0, lr, pull, noise, BITS)
    nearest, stochastic, exact = np.array([1.0]), np.ones(3), 1.0
    for step in range(60):
        assert w.nearest[step] == nearest[0]
        np.testing.assert_array_equal(w.stochastic()[:, step], stochastic)
        assert w.exact[step] == pytest.approx(exact, rel=1e-9, abs=1e-12)
        nearest = format_.decode(format_.encode(nearest - lr * gradient(pull, nearest)))
        target = stochastic - lr * gradient(pull, stochastic)
        stochastic = round_stochastic(format_, target, noise[step], BITS)
        exact = exact - lr * float(gradient(pull, np.array(exact)))


def test_the_drift_is_the_mean_over_every_random_value():
    every = np.arange(1 << BITS)[None]
    w = walk(FORMATS["e4m3"], 1.0, 0.01, Pull.DOWN, every, BITS)
    assert w.drift == pytest.approx((w.stochastic()[:, 1] - 1).mean(), rel=1e-12)


@pytest.mark.parametrize(
    ("lr", "pull", "frozen"),
    [
        (2.0**-9, Pull.DOWN, True),  # half the gap below 1: a tie, and 1 has the even code
        (2.0**-9 * 1.01, Pull.DOWN, False),
        (2.0**-8, Pull.UP, True),
        (2.0**-8 * 1.01, Pull.UP, False),
    ],
)
def test_bf16_freezes_at_1_up_to_half_the_gap_in_the_direction_of_the_update(lr, pull, frozen):
    w = walk(FORMATS["bf16"], 1.0, lr, pull, random(1), BITS)
    assert bool(w.nearest[1] == 1.0) is frozen
    if frozen:
        assert (w.freeze.step, w.freeze.w, abs(w.freeze.update), w.freeze.half_gap) == (0, 1.0, lr, lr)
    else:
        assert w.freeze is None


E5M2 = scaled_runs(FORMATS["e5m2"], Overflow.INF)


def test_underflow_is_gradual_and_overflow_ends_a_run():
    last = E5M2.losses[:, -1]
    assert E5M2.losses.shape == (len(LOG2_SCALES), STEPS + 1)
    cliff = LOG2_SCALES.index(E5M2.first_lost)
    assert np.isnan(last[cliff:]).all()
    assert np.isfinite(last[:cliff]).all()
    assert last[0] > 1000 * E5M2.exact[-1]
    assert last[cliff - 1] < 1.1 * E5M2.exact[-1]
    small_scales = last[: LOG2_SCALES.index(-8)]
    assert (np.diff(small_scales) < 0).all(), "each octave of the scale loses less"
    assert (np.diff(E5M2.zeros[:cliff]) <= 0).all()
    assert E5M2.ended(E5M2.first_lost) == 1
    assert E5M2.ended(0) is None


def test_a_saturating_run_goes_on_slowly():
    runs = scaled_runs(FORMATS["e5m2"], Overflow.SATURATE)
    assert runs.first_lost is None
    assert runs.losses[-1, -1] > 100 * runs.exact[-1]
    assert runs.beyond[-1] > 0.1
    assert runs.zeros[-1] == 0
    same = E5M2.losses[:30]
    assert np.array_equal(runs.losses[:30], same), "where nothing overflows the policy plays no part"


def test_a_format_without_infinity_ends_in_nan():
    assert scaled_runs(FORMATS["e4m3"], Overflow.NAN).first_lost < E5M2.first_lost
