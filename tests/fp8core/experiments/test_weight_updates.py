"""Contract: a walk over known values is w ← round(w - lr · g) in steps; nearest freezes below half a gap."""

import numpy as np
import pytest

from fp8core.experiments.weight_updates import Pull, gradient, walk
from fp8core.formats import FORMATS
from fp8core.stochastic import round_stochastic

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


def test_a_pull_that_weakens_freezes_on_the_way():
    w = walk(FORMATS["bf16"], 1.0, 0.01, Pull.TARGET, random(1000), BITS)
    assert 0 < w.freeze.step < 1000
    assert abs(w.freeze.update) <= w.freeze.half_gap
    assert (w.nearest[w.freeze.step :] == w.freeze.w).all()
    assert w.nearest[-1] > w.exact[-1] + 0.05
