"""Contract: each rule is its definition in exact arithmetic; each edge case is the documented one."""

from fractions import Fraction

import numpy as np
import pytest

from fp8core.formats import FORMATS
from fp8core.scales import E8M0_FLOOR, E8M0_ROUND_UP, FP32_SCALE

RULES = {"fp32": FP32_SCALE, "floor": E8M0_FLOOR, "round_up": E8M0_ROUND_UP}
ELEMENTS = [FORMATS["e4m3"], FORMATS["e5m2"]]
by_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
by_element = pytest.mark.parametrize("element", ELEMENTS, ids=lambda f: f.name)


def amaxes() -> np.ndarray:
    rng = np.random.default_rng(0)
    powers = np.ldexp(np.float32(1), np.arange(-118, 127)).astype(np.float32)
    near = [powers, np.nextafter(powers, np.float32(0)), np.nextafter(powers, np.float32(np.inf))]
    at_max = [p * np.float32(m) for p in near for m in (1.75, np.nextafter(np.float32(1.75), np.float32(2)))]
    random = np.exp(rng.uniform(np.log(1e-35), np.log(1e38), 4000)).astype(np.float32)
    return np.concatenate([*near, *at_max, random, [np.finfo(np.float32).max]]).astype(np.float32)


@by_element
def test_the_fp32_scale_is_one_correctly_rounded_division(element) -> None:
    amax = amaxes()
    exact = [Fraction(float(a)) / Fraction(element.max) for a in amax]
    scale = FP32_SCALE.scale(amax, element)
    for s, e in zip(scale, exact, strict=True):
        if float(s) == FP32_SCALE.min_scale:
            assert e <= Fraction(float(s))
            continue
        error = abs(Fraction(float(s)) - e)
        below, above = np.nextafter(s, np.float32(0)), np.nextafter(s, np.float32(np.inf))
        assert error <= abs(Fraction(float(below)) - e)
        assert error <= abs(Fraction(float(above)) - e)


@by_element
def test_round_up_is_the_smallest_power_of_two_that_holds_amax(element) -> None:
    for a, s in zip(amaxes(), E8M0_ROUND_UP.scale(amaxes(), element), strict=True):
        top = Fraction(element.max) * Fraction(float(s))
        assert Fraction(float(a)) <= top
        assert float(s) == E8M0_ROUND_UP.min_scale or Fraction(float(a)) > top / 2


@by_element
def test_floor_is_the_power_of_two_of_amax_over_that_of_the_largest_value(element) -> None:
    for a, s in zip(amaxes(), E8M0_FLOOR.scale(amaxes(), element), strict=True):
        exponent = int(np.frexp(np.float64(a))[1]) - 1 - element.e_max
        assert float(s) == 2.0 ** max(exponent, -127)


@by_rule
@by_element
def test_a_zero_or_too_small_amax_takes_the_smallest_scale(rule, element) -> None:
    tiny = np.array([0.0, np.finfo(np.float32).smallest_subnormal, rule.min_scale], np.float32)
    assert (rule.scale(tiny, element) == np.float32(rule.min_scale)).all()
    assert np.isfinite(np.float32(1) / np.float32(rule.min_scale))


@by_rule
@by_element
def test_an_amax_that_is_not_finite_makes_the_scale_nan(rule, element) -> None:
    assert np.isnan(rule.scale(np.array([np.nan, np.inf], np.float32), element)).all()


@by_element
def test_150_rounds_up_one_power_earlier_than_a_plain_ceiling(element) -> None:
    # pytorch/ao#2035: amax 150 in e4m3 takes 2**-1 (code 126); ceil(log2 amax) - e_max would take 2**0.
    scale = E8M0_ROUND_UP.scale(np.float32(150), FORMATS["e4m3"])
    assert FORMATS["e8m0"].encode(scale) == 126
