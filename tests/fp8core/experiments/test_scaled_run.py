"""Contract: too small a scale loses little by little, too large a one ends the run; saturation slows it."""

import numpy as np

from fp8core.experiments.scaled_run import LOG2_SCALES, STEPS, scaled_runs
from fp8core.formats import FORMATS
from fp8core.rounding import Overflow

E5M2 = scaled_runs(FORMATS["e5m2"], Overflow.INF)


def test_underflow_is_gradual_and_overflow_ends_a_run():
    last = E5M2.losses[:, -1]
    assert E5M2.losses.shape == (len(LOG2_SCALES), STEPS + 1)
    cliff = LOG2_SCALES.index(E5M2.first_lost)
    assert np.isnan(last[cliff:]).all()
    assert np.isfinite(last[:cliff]).all()
    assert last[0] > 1000 * E5M2.exact[-1]
    assert last[cliff - 1] < 1.1 * E5M2.exact[-1]
    lost = last[: LOG2_SCALES.index(-8)]
    assert (np.diff(lost) < 0).all(), "each octave of the scale loses less"
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
