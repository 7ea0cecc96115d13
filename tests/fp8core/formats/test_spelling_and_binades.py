"""A code written out gives its value back; precision binade by binade is what counting values finds."""

import math

import numpy as np
import pytest

from fp8core.formats import FORMATS, FloatFormat
from fp8core.formats.binades import binade_runs, dynamic_range, finest_bits
from fp8core.formats.spelling import Kind, spell

SMALL = [f for f in FORMATS.values() if f.bits <= 8]
small = pytest.mark.parametrize("format_", SMALL, ids=lambda f: f.name)


def value_of(significand: str, exponent: int) -> float:
    whole, _, fraction = significand.partition(".")
    return int(whole + fraction, 2) * 2.0 ** (exponent - len(fraction))


@small
def test_every_finite_code_written_out_gives_its_value(format_):
    for code in range(1 << format_.bits):
        spelling, value = spell(format_, code), float(format_.decode(code))
        assert (int(spelling.bits, 2), len(spelling.layout)) == (code, format_.bits)
        if spelling.kind is Kind.INTEGER:
            assert int(spelling.significand) * 2.0**spelling.exponent == abs(value)
        elif spelling.kind in (Kind.NORMAL, Kind.SUBNORMAL):
            assert value_of(spelling.significand, spelling.exponent) == abs(value)
            assert spelling.significand[0] == "10"[spelling.kind is Kind.SUBNORMAL]
            assert spelling.negative == (value < 0)


@pytest.mark.parametrize("format_", [f for f in SMALL if isinstance(f, FloatFormat)], ids=lambda f: f.name)
def test_the_significand_of_a_float_ends_in_its_mantissa_bits(format_):
    for code in range(1 << format_.bits):
        spelling = spell(format_, code)
        if spelling.kind in (Kind.NORMAL, Kind.SUBNORMAL) and format_.mantissa_bits:
            assert spelling.significand.partition(".")[2] == spelling.bits[-format_.mantissa_bits :]


def test_special_codes_are_named():
    kinds = {
        ("e4m3", 0x7F): Kind.NAN,
        ("e4m3", 0x80): Kind.MINUS_ZERO,
        ("e4m3", 0x00): Kind.ZERO,
        ("e4m3", 0x01): Kind.SUBNORMAL,
        ("e4m3fnuz", 0x80): Kind.NAN,
        ("e5m2", 0xFC): Kind.INFINITY,
        ("e8m0", 0x00): Kind.NORMAL,
        ("mxint8", 0x80): Kind.INTEGER,
    }
    assert {key: spell(FORMATS[key[0]], key[1]).kind for key in kinds} == kinds


@pytest.mark.parametrize("format_", [f for f in FORMATS.values() if f.bits <= 16], ids=lambda f: f.name)
def test_mantissa_bits_are_what_counting_values_finds(format_):
    positive = format_.values[np.isfinite(format_.values) & (format_.values > 0)]
    exponents = np.frexp(positive)[1] - 1
    found = binade_runs(format_)
    assert found[0].low == exponents.min()
    assert found[-1].high == exponents.max() + 1
    for run in found:
        for e in range(run.low, min(run.high, exponents.max())):  # the last binade may be cut short
            assert (exponents == e).sum() == 1 << run.bits


def test_range_and_precision_by_hand():
    assert dynamic_range(FORMATS["e4m3"]) == pytest.approx(math.log2(448 * 512))
    assert dynamic_range(FORMATS["e8m0"]) == 254
    assert [finest_bits(FORMATS[n]) for n in ("e4m3", "e5m2", "hif8", "mxint8", "fp32")] == [3, 2, 3, 6, 23]
