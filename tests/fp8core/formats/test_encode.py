"""Contract: encode is one exact rounding from float64, ties and overflow included; what does not fit is
refused in a sentence.
"""

import gfloat
import gfloat.formats
import numpy as np
import pytest

from fp8core.formats import FORMATS, FloatFormat, Format
from fp8core.formats.survival import fates
from fp8core.rounding import Overflow, Rounding
from tests.fp8core.formats.cases import ELEMENTS, EVERY, GFLOAT, TABLED, WITH_ML_DTYPE, all_codes, by_name


@by_name(TABLED)
def test_every_finite_value_encodes_to_its_own_code(format_: FloatFormat) -> None:
    codes = all_codes(format_)[np.isfinite(format_.values)]
    np.testing.assert_array_equal(format_.encode(format_.decode(codes)), codes)


@by_name(ELEMENTS)
def test_ties_go_to_the_even_code_and_neighbors_of_a_tie_to_the_nearer(format_: FloatFormat) -> None:
    top = min(format_.max_code, 1 << 16)
    low = np.arange(top, dtype=np.int64)
    a, b = (
        format_.decode(low.astype(format_.code_dtype)),
        format_.decode((low + 1).astype(format_.code_dtype)),
    )
    tie = (a + b) / 2
    even = low + (low & 1)
    for sign in (1, -1):
        for x, code in ((tie, even), (np.nextafter(tie, 0), low), (np.nextafter(tie, np.inf), low + 1)):
            signed = code | format_.sign_bit if sign < 0 else code
            signed = np.where((signed == format_.sign_bit) & (not format_.has_minus_zero), 0, signed)
            np.testing.assert_array_equal(format_.encode(sign * x), signed)


@by_name([f for f in WITH_ML_DTYPE if f.signed])
def test_random_float32_rounds_as_in_ml_dtypes(format_: FloatFormat) -> None:
    bits = np.random.default_rng(1).integers(0, 1 << 32, 200_000, dtype=np.uint32)
    x = bits.view(np.float32)
    inside = np.isfinite(x) & (np.abs(x) <= format_.max)
    theirs = x[inside].astype(format_.ml_dtype).view(format_.code_dtype)
    np.testing.assert_array_equal(format_.encode(x[inside]), theirs)


@pytest.mark.parametrize("name", GFLOAT)
@pytest.mark.parametrize(
    ("rounding", "theirs"),
    [
        (Rounding.NEAREST_EVEN, gfloat.RoundMode.TiesToEven),
        (Rounding.NEAREST_AWAY, gfloat.RoundMode.TiesToAway),
        (Rounding.TOWARD_ZERO, gfloat.RoundMode.TowardZero),
    ],
    ids=lambda mode: mode.name,
)
def test_each_rounding_agrees_with_gfloat_from_float64(name, rounding, theirs) -> None:
    format_ = FORMATS[name]
    rng = np.random.default_rng(2)
    smallest = np.frexp(format_.min_subnormal)[1]
    x = rng.standard_normal(300) * 2.0 ** rng.integers(smallest - 3, format_.e_max, 300)
    ties = format_.decode(np.arange(min(40, format_.max_code), dtype=format_.code_dtype))
    x = np.concatenate([x, (ties[1:] + ties[:-1]) / 2, -(ties[1:] + ties[:-1]) / 2])
    expected = [gfloat.round_float(GFLOAT[name], v, theirs, sat=True) for v in x]
    np.testing.assert_array_equal(format_.decode(format_.encode(x, rounding)), expected)


def test_overflow_gives_what_is_asked_and_464_is_a_tie_that_stays_inside() -> None:
    e4m3, e5m2 = FORMATS["e4m3"], FORMATS["e5m2"]
    x = np.array([448.0, 464.0, np.nextafter(464, 500), -1e9, np.inf, -np.inf, np.nan, -np.nan])
    assert e4m3.encode(x).tolist() == [0x7E, 0x7E, 0x7E, 0xFE, 0x7E, 0xFE, 0x7F, 0xFF]
    nan = e4m3.encode(x, overflow=Overflow.NAN)
    assert nan.tolist() == [0x7E, 0x7E, 0x7F, 0xFF, 0x7F, 0xFF, 0x7F, 0xFF]
    inf = e5m2.encode([57344.0, 61439.0, 61440.0, -np.inf], overflow=Overflow.INF)
    assert inf.tolist() == [0x7B, 0x7B, 0x7C, 0xFC]
    with pytest.raises(ValueError, match="e4m3 has no code for infinity"):
        e4m3.encode(1.0, overflow=Overflow.INF)


def test_stochastic_rounding_goes_up_exactly_when_fraction_and_noise_reach_one() -> None:
    e4m3 = FORMATS["e4m3"]
    x = np.full(4, 1.0 + 0.25 * e4m3.ulp(1.0))
    codes = e4m3.encode(x, Rounding.STOCHASTIC, noise=np.array([0.0, np.nextafter(0.75, 0), 0.75, 0.999]))
    assert (codes - e4m3.encode(1.0)).tolist() == [0, 0, 1, 1]
    with pytest.raises(ValueError, match="needs noise"):
        e4m3.encode(x, Rounding.STOCHASTIC)


@by_name(EVERY)
def test_a_policy_is_offered_exactly_where_the_format_has_its_code(format_: Format) -> None:
    for overflow in Overflow:
        if overflow in format_.overflows:
            value = float(format_.decode(format_.encode(2.0 * format_.max, overflow=overflow)))
            expected = {Overflow.SATURATE: format_.max, Overflow.INF: np.inf, Overflow.NAN: np.nan}
            np.testing.assert_equal(value, expected[overflow])
        else:
            with pytest.raises(ValueError, match=f"{format_.name} has no code for"):
                format_.encode(2.0 * format_.max, overflow=overflow)


@by_name(EVERY)
def test_nan_gives_nan_or_is_refused(format_: Format) -> None:
    if Overflow.NAN in format_.overflows:
        assert np.isnan(format_.decode(format_.encode([np.nan, 1.0]))).tolist() == [True, False]
    else:
        with pytest.raises(ValueError, match=f"{format_.name} has no code for NaN"):
            format_.encode([np.nan, 1.0])


def test_formats_without_minus_zero_give_plain_zero() -> None:
    for name in ("e4m3fnuz", "binary8p3se", "hif8", "mxint8"):
        assert FORMATS[name].encode([-0.0, -1e-30]).tolist() == [0, 0]


@pytest.mark.parametrize("format_", FORMATS.values(), ids=FORMATS)
def test_rounding_to_values_is_encoding_and_decoding(format_) -> None:
    codes = np.arange(1 << format_.bits, dtype=np.uint32) if format_.bits <= 16 else _some_codes(format_)
    values = format_.decode(codes)
    values = np.unique(values[np.isfinite(values)])
    ties = (values[1:] + values[:-1]) / 2
    beyond = format_.max + format_.gap_beyond / 2 * np.array([-1.0, 0.5, 1.0, 1.5, 3.0])
    x = np.concatenate([values, ties, beyond, [0.0, 5e-324, 1e308, np.inf]])
    x = np.concatenate([x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf)])
    x = np.concatenate([x, -x]) if format_.signed else x[x >= 0]
    np.testing.assert_array_equal(format_.rounded(x), format_.decode(format_.encode(x)))
    assert np.isnan(format_.rounded([np.nan, 1.0])).tolist() == [True, False]
    assert format_.rounded(1.25) == format_.rounded([1.25])[0]


def _some_codes(format_) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 1 << format_.bits, 4000, np.uint32)


def test_fates_at_the_limits_of_e4m3():
    half = 2.0**-10  # half the smallest value, a tie that goes to zero
    x = [0.0, half, np.nextafter(half, 1), 2.0**-7, 2.0**-6, 448, 464, np.nextafter(464, 500), -1e9]
    found = fates(FORMATS["e4m3"], x)
    assert (found.zero, found.subnormal, found.normal, found.overflow) == (1 / 8, 2 / 8, 3 / 8, 2 / 8)


def test_what_rounds_to_the_largest_value_does_not_overflow_in_a_format_that_only_saturates():
    found = fates(FORMATS["e2m1"], [6.4, 7.0, 100.0, 0.1])  # 7 is a tie with 8, whose code is even
    assert (found.zero, found.normal, found.overflow) == (0.25, 0.25, 0.5)


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
