"""Contract: every code decodes to what ml_dtypes and gfloat say; a format that cannot be is refused in a
sentence.
"""

import math

import en_dtypes
import gfloat
import gfloat.formats
import ml_dtypes
import numpy as np
import pytest

from fp8core.formats import FORMATS, FloatFormat, Format, Specials
from fp8core.formats.binades import binade_runs, dynamic_range, finest_bits
from fp8core.formats.spelling import Kind, spell
from fp8core.rounding import Overflow, Rounding
from tests.fp8core.formats.cases import (
    ELEMENTS,
    GFLOAT,
    TABLED,
    WITH_ML_DTYPE,
    all_codes,
    by_name,
    signs_of_numbers,
)


@by_name([f for f in WITH_ML_DTYPE if f in TABLED])
def test_every_code_decodes_as_in_ml_dtypes(format_: FloatFormat) -> None:
    with np.errstate(invalid="ignore"):
        theirs = all_codes(format_).view(format_.ml_dtype).astype(np.float64)
    np.testing.assert_array_equal(format_.decode(all_codes(format_)), theirs)
    np.testing.assert_array_equal(signs_of_numbers(format_.values), signs_of_numbers(theirs))


@pytest.mark.parametrize("name", [name for name in GFLOAT if FORMATS[name].bits <= 8])
def test_every_code_decodes_as_in_gfloat(name: str) -> None:
    theirs = np.array(
        [gfloat.decode_float(GFLOAT[name], code).fval for code in range(FORMATS[name].values.size)]
    )
    np.testing.assert_array_equal(FORMATS[name].values, theirs)
    np.testing.assert_array_equal(signs_of_numbers(FORMATS[name].values), signs_of_numbers(theirs))


def test_every_hif8_code_decodes_as_in_en_dtypes_and_values_round_half_away_as_there() -> None:
    hif8 = FORMATS["hif8"]
    theirs = all_codes(hif8).view(en_dtypes.hifloat8).astype(np.float32).astype(np.float64)
    np.testing.assert_array_equal(hif8.values, theirs)
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(100_000) * np.exp2(rng.integers(-26, 18, 100_000))).astype(np.float32)
    ours = hif8.encode(x, Rounding.NEAREST_AWAY, Overflow.INF)
    np.testing.assert_array_equal(ours, x.astype(en_dtypes.hifloat8).view(np.uint8))


@by_name(WITH_ML_DTYPE)
def test_the_named_extremes_are_those_of_ml_dtypes(format_: FloatFormat) -> None:
    finfo = ml_dtypes.finfo(format_.ml_dtype)
    assert format_.max == float(finfo.max)
    assert format_.min_normal == float(finfo.smallest_normal)
    assert format_.min_subnormal == float(finfo.smallest_subnormal)
    assert format_.e_max == np.frexp(format_.max)[1] - 1


@by_name(ELEMENTS)
def test_ulp_is_the_distance_to_the_next_code(format_: FloatFormat) -> None:
    codes = np.arange(min(format_.max_code, 1 << 16), dtype=format_.code_dtype)
    gaps = format_.decode(codes + codes.dtype.type(1)) - format_.decode(codes)
    np.testing.assert_array_equal(format_.ulp(format_.decode(codes)), gaps)


def test_fp32_codes_are_the_bits_of_float32() -> None:
    assert FORMATS["fp32"].decode(FORMATS["fp32"].encode(1.5)) == 1.5
    x = np.random.default_rng(3).integers(0, 0x7F800000, 10_000, dtype=np.uint32).view(np.float32)
    np.testing.assert_array_equal(FORMATS["fp32"].encode(x), x.view(np.uint32))
    np.testing.assert_array_equal(FORMATS["fp32"].decode(x.view(np.uint32)), x.astype(np.float64))


def custom(**change: object) -> FloatFormat:
    fields = {"name": "mine", "exponent_bits": 3, "mantissa_bits": 2, "bias": 3, "specials": Specials.NONE}
    return FloatFormat(**{**fields, **change})


def test_a_user_defined_format_is_treated_like_the_others() -> None:
    assert custom().values.tolist() == FORMATS["e3m2"].values.tolist()
    wide = custom(exponent_bits=2, mantissa_bits=5, bias=1, specials=Specials.NAN_ONLY)
    assert (wide.bits, wide.max, wide.min_subnormal) == (8, 7.75, 2.0**-5)
    shifted = custom(bias=10)
    np.testing.assert_array_equal(shifted.values, custom().values * 2.0**-7)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"exponent_bits": 0}, "mine needs exponent bits from 1 to 8, got 0"),
        ({"mantissa_bits": 24}, "mine needs mantissa bits from 0 to 23, got 24"),
        ({"bias": 10_000}, "mine needs a bias from -300 to 300, got 10000"),
        ({"specials": Specials.IEEE, "mantissa_bits": 0}, "needs a mantissa bit to tell NaN from infinity"),
        ({"exponent_bits": 1, "mantissa_bits": 0, "specials": Specials.NAN_ONLY}, "no finite value but zero"),
    ],
    ids=str,
)
def test_an_impossible_format_is_refused(change, sentence) -> None:
    with pytest.raises(ValueError, match=sentence):
        custom(**change)


@pytest.mark.parametrize("name", FORMATS)
def test_packed_codes_take_their_own_bits_or_the_next_storage_size(name: str) -> None:
    format_ = FORMATS[name]
    assert isinstance(format_, Format)
    assert format_.packed_bits == {"tf32": 32, "e8m13": 32}.get(name, format_.bits)


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
