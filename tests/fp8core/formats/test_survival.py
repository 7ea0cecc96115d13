"""The fates of numbers: by hand at the limits, and of a gradient against its distribution."""

import numpy as np
import pytest

from fp8core.formats import FORMATS
from fp8core.formats.survival import fates
from fp8core.rounding import Overflow, Rounding


def test_fates_at_the_limits_of_e4m3():
    half = 2.0**-10  # half the smallest value, a tie that goes to zero
    x = [0.0, half, np.nextafter(half, 1), 2.0**-7, 2.0**-6, 448, 464, np.nextafter(464, 500), -1e9]
    found = fates(FORMATS["e4m3"], x)
    assert (found.zero, found.subnormal, found.normal, found.overflow) == (1 / 8, 2 / 8, 3 / 8, 2 / 8)


def test_what_rounds_to_the_largest_value_does_not_overflow_in_a_format_that_only_saturates():
    found = fates(FORMATS["e2m1"], [6.4, 7.0, 100.0, 0.1])  # 7 is a tie with 8, whose code is even
    assert (found.zero, found.normal, found.overflow) == (0.25, 0.25, 0.5)


def test_the_share_that_vanishes_in_fp16_is_that_of_the_distribution():
    x = np.exp2(np.random.default_rng(0).uniform(-30, -10, 100_000))
    found = fates(FORMATS["fp16"], x)
    assert found.zero == pytest.approx(5 / 20, abs=0.01)  # below 2^-25
    assert found.subnormal == pytest.approx(11 / 20, abs=0.01)  # 2^-25 to 2^-14
    assert fates(FORMATS["bf16"], x).normal == 1


def test_a_number_overflows_exactly_where_its_rounding_leaves_the_format():
    beyond_e2m1 = {  # 6 is the largest value, 8 would follow; its code would be even
        Rounding.NEAREST_EVEN: 7.0,
        Rounding.NEAREST_AWAY: 7.0,
        Rounding.TOWARD_ZERO: 8.0,
    }
    for rounding, first in beyond_e2m1.items():
        x = [np.nextafter(first, 0), first, -first, -6.4]
        assert fates(FORMATS["e2m1"], x, rounding).overflow == 0.5
        assert FORMATS["e2m1"].rounds_beyond(x, rounding).tolist() == [False, True, True, False]


@pytest.mark.parametrize("rounding", [r for r in Rounding if r is not Rounding.STOCHASTIC])
@pytest.mark.parametrize("format_", FORMATS.values(), ids=FORMATS)
def test_rounding_beyond_is_what_the_encoder_calls_overflow(format_, rounding):
    ends = np.array([format_.max, format_.gap_beyond]) @ [[1, 1, 1, 1, 0.1], [0, 0.5, 0.49, 1, 0]]
    x = np.concatenate([ends, np.nextafter(ends, 0), np.nextafter(ends, np.inf), [np.inf, np.nan, 0.0]])
    x = np.concatenate([x, -x]) if format_.signed else x[~np.isnan(x)]
    if Overflow.NAN not in format_.overflows:
        x = x[~np.isnan(x)]
        limit = {1: (format_.max, format_.gap_beyond), -1: (-format_.min, format_.gap_beyond)}
        top, gap = np.vectorize(lambda sign: limit[sign])(np.where(x < 0, -1, 1))
        share = np.divide(np.abs(x) - top, gap)
        needed = {Rounding.TOWARD_ZERO: share >= 1, Rounding.NEAREST_AWAY: share >= 0.5}
        even = format_.max_code % 2 == 0
        is_even = np.where((x < 0) & (format_.min != -format_.max), True, even)  # mxint8: -2 is code 0x80
        expected = needed.get(rounding, (share > 0.5) | ((share == 0.5) & ~is_even))
    else:
        codes = format_.encode(x, rounding, Overflow.NAN)
        expected = np.isnan(format_.decode(codes)) & ~np.isnan(x)
    np.testing.assert_array_equal(format_.rounds_beyond(x, rounding), expected)
