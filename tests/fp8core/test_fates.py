"""The fates of numbers: by hand at the limits, and of a gradient against its distribution."""

import numpy as np
import pytest

from fp8core.fates import fates
from fp8core.formats import FORMATS


def test_fates_at_the_limits_of_e4m3():
    half = 2.0**-10  # half the smallest value, a tie that goes to zero
    x = [0.0, half, np.nextafter(half, 1), 2.0**-7, 2.0**-6, 448, 464, np.nextafter(464, 500), -1e9]
    found = fates(FORMATS["e4m3"], x)
    assert (found.zero, found.subnormal, found.normal, found.overflow) == (1 / 8, 2 / 8, 3 / 8, 2 / 8)


def test_a_format_that_only_saturates_overflows_beyond_its_largest_value():
    found = fates(FORMATS["e2m1"], [6.0, 6.1, 100.0, 0.1])
    assert (found.zero, found.normal, found.overflow) == (0.25, 0.25, 0.5)


def test_the_share_that_vanishes_in_fp16_is_that_of_the_distribution():
    x = np.exp2(np.random.default_rng(0).uniform(-30, -10, 100_000))
    found = fates(FORMATS["fp16"], x)
    assert found.zero == pytest.approx(5 / 20, abs=0.01)  # below 2^-25
    assert found.subnormal == pytest.approx(11 / 20, abs=0.01)  # 2^-25 to 2^-14
    assert fates(FORMATS["bf16"], x).normal == 1


@pytest.mark.parametrize("x", [[], [0.0], [1.0, np.nan], [np.inf]])
def test_nothing_to_count_is_refused(x):
    with pytest.raises(ValueError, match="at least one nonzero number, all finite"):
        fates(FORMATS["e4m3"], x)
