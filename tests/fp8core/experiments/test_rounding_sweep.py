"""Contract: over a gap nearest has rms 1/√12 of a step, stochastic 1/√6, and the bias N bits leave."""

import math

import numpy as np
import pytest

from fp8core.experiments.rounding_sweep import nearest_error, noisy_error, sweep, values_around
from fp8core.formats import FORMATS
from fp8core.stochastic import Debias


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


def test_chances_give_the_mean():
    s = sweep(FORMATS["e4m3"], values_around(FORMATS["e4m3"], 3.0, 4), 77, 5, Debias.HALF_UP)
    low = s.x - np.tile((np.arange(77) + 0.5) / 77, 4) * s.step
    np.testing.assert_allclose(low + s.chance * s.step, s.mean, rtol=1e-12)
