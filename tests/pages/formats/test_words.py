"""What the page "Formats" says of numbers at and beyond the ends, and that no format breaks what it draws."""

import contextlib
import itertools
import math
import random

import pytest

from fp8core.formats import FORMATS, Format
from fp8core.formats.float_format import FloatFormat, Specials
from fp8core.formats.number_line import interval, outcomes
from fp8core.formats.spelling import spell
from fp8core.rounding import Overflow, Rounding
from pages.formats.charts.bits import bit_rows
from pages.formats.charts.compare import binade_counts
from pages.formats.charts.line import line_rows
from pages.formats.charts.table import LARGEST, table_rows
from pages.formats.words import facts, notice, reals

NUMBERS = (0.0, -0.0, 0.3, -1.0, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan)
EXPONENTS, MANTISSAS, BIASES = (1, 2, 8), (0, 1, 23), (-300, 0, 300)
OWN_FORMATS = 8
FIELDS = ("exponent_bits", "mantissa_bits", "bias", "specials")


def told(name: str, number: float, overflow: Overflow = Overflow.SATURATE) -> str:
    """The page's sentence on a number, by nearest even."""
    format_, rounding = FORMATS[name], Rounding.NEAREST_EVEN
    code = int(format_.encode(number, rounding, overflow))
    around = interval(format_, code, rounding, overflow)
    return f"{notice(format_, code, number, ())} {reals(format_, code, around, rounding, overflow)}"


def own_formats() -> list[FloatFormat]:
    """Formats of the extreme fields, as many of them as there is time for, and always the smallest."""
    every = []
    for fields in itertools.product(EXPONENTS, MANTISSAS, BIASES, Specials):
        with contextlib.suppress(ValueError):
            every.append(FloatFormat(name="own", **dict(zip(FIELDS, fields, strict=True))))
    smallest = [one for one in every if one.max == one.min_subnormal]
    assert smallest
    return smallest + random.Random(0).sample(every, OWN_FORMATS)


def drawn(format_: Format) -> None:
    """Draw all of a format, and the numbers in it, roundings and policies taking turns."""
    assert facts(format_)
    assert min(binade_counts(format_).values()) >= 1
    if format_.bits <= LARGEST:
        assert len(table_rows(format_)) == 1 << format_.bits
    ends = (format_.max, -format_.max, format_.min_subnormal / 2, format_.min_subnormal * 1.5)
    turns = itertools.cycle(itertools.product(Rounding, format_.overflows))
    for number, (rounding, overflow) in zip((*NUMBERS, *ends), turns, strict=False):
        if math.isnan(number) and Overflow.NAN not in format_.overflows:
            continue
        found = outcomes(format_, number, overflow) if rounding is Rounding.STOCHASTIC else ()
        code = found[0].code if found else int(format_.encode(number, rounding, overflow))
        around = interval(format_, code, rounding, overflow)
        assert notice(format_, code, number, found)
        assert reals(format_, code, around, rounding, overflow)
        assert bit_rows(format_, spell(format_, code))
        if not math.isnan(float(format_.decode(code))):
            assert line_rows(format_, code, around, number, found)


@pytest.mark.parametrize("name", FORMATS)
def test_every_number_is_told_and_drawn_in_every_format(name):
    drawn(FORMATS[name])


def test_every_number_is_told_and_drawn_in_the_extreme_formats_of_ones_own():
    for format_ in own_formats():
        drawn(format_)


def test_zero_and_what_is_too_small_take_the_smallest_value_of_a_format_without_zero():
    for number in (0.0, 1e-300, 5e-324):
        assert "the smallest value: e8m0 has no zero" in told("e8m0", number)


def test_a_negative_number_is_not_called_too_large_where_there_is_no_sign():
    text = told("e8m0", -1.0)
    assert "it is negative, and e8m0 has no sign" in text
    assert text.endswith("Every negative real becomes this code.")


def test_only_what_lies_outside_the_finite_values_is_said_to_lie_beyond():
    for name, format_ in FORMATS.items():
        low, high = float(format_.decode(format_.encode(-math.inf))), format_.max
        if format_.signed:
            assert "beyond" not in told(name, math.nextafter(low, 0))
            assert "beyond the lowest value" in told(name, 2 * low)
        assert "beyond" not in told(name, math.nextafter(high, 0))
        assert "beyond the largest value" in told(name, 2 * high)
    assert "−1.995 becomes −2**, 0.251% too large" in told("mxint8", -1.995)


def test_a_number_that_became_nan_and_the_reals_that_do_agree():
    for name, format_ in FORMATS.items():
        for number in (2 * format_.max, -2 * format_.max):
            if Overflow.NAN in format_.overflows:
                text = told(name, number, Overflow.NAN)
                assert "NaN**" in text
                assert "No real number" not in text


def test_minus_zero_is_not_kept_where_there_is_none():
    for name, format_ in FORMATS.items():
        if format_.signed:
            kept = math.copysign(1.0, float(format_.decode(format_.encode(-0.0)))) < 0
            assert ("kept exactly" in told(name, -0.0)) is kept


def test_a_tie_goes_to_the_even_code_where_there_are_mantissa_bits_and_up_where_there_are_none():
    for format_ in FORMATS.values():
        if isinstance(format_, FloatFormat):
            low = format_.encode(1.0) if format_.mantissa_bits else format_.encode(2.0)
            tie = float(format_.decode(low) + format_.decode(low + 1)) / 2
            up = format_.mantissa_bits == 0 or int(low) % 2 == 1
            assert int(format_.encode(tie)) == int(low) + up


def test_a_format_without_nan_says_where_it_goes_and_a_lopsided_one_what_is_lowest():
    told = facts(FORMATS["mxint8"])
    assert "Its lowest value, −2, has no opposite" in told
    assert "No code is NaN or infinity" in told
    assert "0xFF" in facts(FORMATS["e2m1"])
    assert "opposite" not in facts(FORMATS["e2m1"])
    for name in ("e4m3", "e5m2", "e8m0", "bf16"):
        assert "No code is NaN" not in facts(FORMATS[name])
