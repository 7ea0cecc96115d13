"""Neighbors, rounding intervals and stochastic outcomes agree with the encoder, code by code."""

import math

import numpy as np
import pytest

from fp8core.formats import FORMATS, Format
from fp8core.formats.number_line import around, interval, outcomes, step
from fp8core.rounding import Overflow, Rounding
from fp8core.stochastic import neighbors

SMALL = [f for f in FORMATS.values() if f.bits <= 8]
DETERMINISTIC = [r for r in Rounding if r is not Rounding.STOCHASTIC]
small = pytest.mark.parametrize("format_", SMALL, ids=lambda f: f.name)
every = pytest.mark.parametrize("format_", FORMATS.values(), ids=list(FORMATS))


def finite_codes(format_: Format) -> list[int]:
    return [int(code) for code in np.flatnonzero(np.isfinite(format_.values))]


@small
def test_steps_visit_every_finite_value_in_order(format_):
    values = np.unique(format_.values[np.isfinite(format_.values)])
    at = int(format_.encode(-math.inf)) if format_.signed else 0
    visits = [float(format_.decode(at))]
    while (at := step(format_, at, up=True)) is not None:
        visits.append(float(format_.decode(at)))
    assert visits == values.tolist()
    back = [code for code in finite_codes(format_) if format_.decode(code) == format_.max]
    assert len(around(format_, back[0], values.size)) == values.size


@every
def test_the_line_ends_at_max_and_infinities_step_inside(format_):
    assert step(format_, format_.max_code, up=True) is None
    if Overflow.INF in format_.overflows:
        assert step(format_, format_.inf_code, up=False) == format_.max_code
        assert step(format_, format_.inf_code, up=True) is None
    if Overflow.NAN in format_.overflows:
        assert step(format_, format_.nan_code, up=True) is None


@pytest.mark.parametrize("name", ["fp16", "bf16", "tf32", "fp32"])
def test_a_step_up_is_the_next_code_in_wide_formats(name):
    format_ = FORMATS[name]
    for code in (0, 1, 7, format_.max_code // 2, format_.max_code - 1):
        assert step(format_, code, up=True) == code + 1
        assert step(format_, code + 1, up=False) == code
        if code:
            assert step(format_, code | format_.sign_bit, up=False) == (code + 1) | format_.sign_bit


def reals_around(format_: Format) -> np.ndarray:
    """Every value, midpoint and quarter point, and the float64 on either side of each; beyond max too."""
    finite = np.unique(format_.values[np.isfinite(format_.values)])
    beyond = finite[-1] + format_.gap_beyond * np.array([0.25, 0.5, 0.75, 1.0, 3.0])
    points = np.concatenate([finite, (finite[1:] + finite[:-1]) / 2, beyond, -beyond * format_.signed, [0.0]])
    points = np.concatenate([points, np.nextafter(points, np.inf), np.nextafter(points, -np.inf)])
    return np.concatenate([points[(points >= 0) | format_.signed], [np.inf]])


@small
@pytest.mark.parametrize("rounding", DETERMINISTIC, ids=lambda r: r.name)
def test_a_real_rounds_to_a_code_exactly_when_it_is_in_the_codes_interval(format_, rounding):
    x = np.unique(reals_around(format_))
    x = x[x != 0]  # the two zeros are one place on the line
    for overflow in format_.overflows:
        codes = format_.encode(x, rounding, overflow)
        expected = np.full(x.shape, -1)
        for code in range(1 << format_.bits):
            found = interval(format_, code, rounding, overflow)
            assert found is None or not math.isnan(format_.decode(code))
            if found is not None:
                low = np.searchsorted(x, found.low, "left" if found.low_closed else "right")
                high = np.searchsorted(x, found.high, "right" if found.high_closed else "left")
                assert (expected[low:high] == -1).all(), f"{code:#x} {overflow}"
                expected[low:high] = code
        found = np.where(np.isnan(format_.decode(codes)), -1, codes.astype(int))
        np.testing.assert_array_equal(found, expected)


@small
def test_outcomes_have_the_frequencies_of_the_encoder_over_all_noise(format_):
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1.2, 40) * (format_.max + format_.gap_beyond) * rng.choice([1.0, 2.0**-5], 40)
    signs = rng.choice([-1.0, 1.0], 40) if format_.signed else np.ones(40)
    draws = 4096
    noise = (np.arange(draws) + 0.5) / draws
    for overflow in format_.overflows:
        for value in x * signs:
            codes = format_.encode(np.full(draws, value), Rounding.STOCHASTIC, overflow, noise)
            results = outcomes(format_, float(value), overflow)
            assert sum(o.probability for o in results) == pytest.approx(1)
            assert set(codes.tolist()) <= {o.code for o in results}
            for o in results:
                assert abs((codes == o.code).mean() - o.probability) <= 1 / draws


@every
@pytest.mark.parametrize("share", [2.0**-60, 2.0**-1000, 1e-19], ids=str)
def test_a_number_next_to_a_value_is_not_certain_however_near(format_, share):
    """Near zero float64 has numbers so small that their share of the gap vanishes beside 1."""
    if format_.encode(0.0) != 0 or format_.decode(0) != 0:
        pytest.skip("a format without zero gives its smallest value to all that is smaller")
    for x in (format_.min_subnormal * share, -format_.min_subnormal * share):
        if x == 0:
            continue
        near, far = outcomes(format_, x)
        assert float(format_.decode(near.code)) == 0
        assert float(format_.decode(far.code)) == math.copysign(format_.min_subnormal, x)
        assert 0 < far.probability == share
        assert near.probability < 1
        around_x = neighbors(format_, x)
        assert (float(around_x.low), float(around_x.high)) == (0, float(format_.decode(far.code)))
        assert float(around_x.fraction) == share


@every
def test_a_value_is_certain_and_so_is_what_saturates(format_):
    for x in (format_.max, 2 * format_.max + format_.gap_beyond, format_.min_subnormal, format_.max * 1.01):
        (only,) = outcomes(format_, x)
        assert only.probability == 1
        assert float(format_.decode(only.code)) == min(x, format_.max)
