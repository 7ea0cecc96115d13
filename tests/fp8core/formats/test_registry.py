"""Contract: every code decodes to what ml_dtypes and gfloat say; a format that cannot be is refused in a
sentence.
"""

import en_dtypes
import gfloat
import gfloat.formats
import ml_dtypes
import numpy as np
import pytest

from fp8core.formats import FORMATS, FloatFormat, Format, Specials
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


IDENTITIES = {
    ("e4m3fnuz", "binary8p4sf"): "P3109's finite binary8p4 is AMD's e4m3 FNUZ",
    ("e5m2fnuz", "binary8p3sf"): "P3109's finite binary8p3 is AMD's e5m2 FNUZ",
}


@pytest.mark.parametrize(("one", "other"), IDENTITIES, ids=IDENTITIES.values())
def test_identities_between_formats(one: str, other: str) -> None:
    np.testing.assert_array_equal(FORMATS[one].values, FORMATS[other].values)


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [("fp32", "tf32"), ("fp32", "bf16"), ("fp32", "e8m13"), ("tf32", "bf16"), ("e8m13", "tf32")],
)
def test_a_narrow_code_is_the_top_of_the_wide_one(wide: str, narrow: str) -> None:
    wide_format, narrow_format = FORMATS[wide], FORMATS[narrow]
    codes = np.random.default_rng(0).integers(0, 1 << narrow_format.bits, 20_000)
    shift = wide_format.bits - narrow_format.bits
    np.testing.assert_array_equal(narrow_format.decode(codes), wide_format.decode(codes << shift))


def test_every_value_of_e5m2_is_one_of_fp16() -> None:
    e5m2, fp16 = FORMATS["e5m2"], FORMATS["fp16"]
    np.testing.assert_array_equal(fp16.decode(all_codes(e5m2).astype(np.uint16) << 8), e5m2.values)


@by_name(WITH_ML_DTYPE)
def test_the_named_extremes_are_those_of_ml_dtypes(format_: FloatFormat) -> None:
    finfo = ml_dtypes.finfo(format_.ml_dtype)
    assert format_.max == float(finfo.max)
    assert format_.min_normal == float(finfo.smallest_normal)
    assert format_.min_subnormal == float(finfo.smallest_subnormal)
    assert format_.e_max == np.frexp(format_.max)[1] - 1


def test_e8m0_has_no_sign_and_no_zero() -> None:
    e8m0 = FORMATS["e8m0"]
    codes = e8m0.encode([2.0**-127, 1.0, 2.0**127, 2.0**128, 0.0, -1.0, np.nan])
    assert codes.tolist() == [0, 127, 254, 254, 0, 255, 255]


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


def test_mxint8_is_an_integer_over_64() -> None:
    mxint8 = FORMATS["mxint8"]
    assert mxint8.encode([1.0, -1.0, 1.5 / 64, 2.5 / 64, 5.0, -5.0]).tolist() == [64, 192, 2, 2, 127, 128]
    assert (mxint8.max, mxint8.decode(128), mxint8.min_subnormal) == (127 / 64, -2.0, 1 / 64)


def test_uniform4_is_int4_over_4_and_its_bins_are_even() -> None:
    uniform4 = FORMATS["uniform4"]
    magnitudes = np.arange(8) / 4
    np.testing.assert_array_equal(uniform4.values, np.concatenate([magnitudes, -magnitudes]))
    inside = np.random.default_rng(0).uniform(-7.5, 7.5, 1000)
    np.testing.assert_array_equal(uniform4.rounded(inside / 4) * 4, np.rint(inside))
    assert uniform4.encode([-2.0, 2.0, -0.125, 0.375]).tolist() == [15, 7, 8, 2]


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
