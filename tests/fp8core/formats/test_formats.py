"""Contract: every code decodes to what ml_dtypes and gfloat say; encode is one exact rounding from float64,
ties and overflow included; a format that cannot be is refused.
"""

import en_dtypes
import gfloat
import gfloat.formats
import ml_dtypes
import numpy as np
import pytest

from fp8core.formats import FORMATS, FloatFormat, Format, Specials
from fp8core.formats.binades import binade_runs
from fp8core.formats.spelling import Kind, spell
from fp8core.formats.survival import fates
from fp8core.rounding import Overflow, Rounding

EVERY = list(FORMATS.values())
TABLED = [f for f in EVERY if f.bits <= 16]
FLOATS = [f for f in EVERY if isinstance(f, FloatFormat)]
WITH_ML_DTYPE = [f for f in EVERY if f.ml_dtype is not None]
ELEMENTS = [f for f in FLOATS if f.signed]


def p3109(format_: FloatFormat) -> gfloat.FormatInfo:
    domain = gfloat.Domain.Extended if format_.name.endswith("e") else gfloat.Domain.Finite
    return gfloat.formats.format_info_p3109(8, format_.mantissa_bits + 1, domain=domain)


GFLOAT = {
    "e4m3": gfloat.formats.format_info_ocp_e4m3,
    "e5m2": gfloat.formats.format_info_ocp_e5m2,
    "e3m2": gfloat.formats.format_info_ocp_e3m2,
    "e2m3": gfloat.formats.format_info_ocp_e2m3,
    "e2m1": gfloat.formats.format_info_ocp_e2m1,
    "uniform4": gfloat.FormatInfo(
        "e1m2",
        k=4,
        precision=3,
        bias=1,
        is_signed=True,
        domain=gfloat.Domain.Finite,
        has_nz=True,
        num_high_nans=0,
        has_subnormals=True,
        is_twos_complement=False,
    ),
    "fp16": gfloat.formats.format_info_binary16,
    "bf16": gfloat.formats.format_info_bfloat16,
    "mxint8": gfloat.formats.format_info_ocp_int8,
    "e4m3fnuz": gfloat.formats.format_info_p3109(8, 4, domain=gfloat.Domain.Finite),
    "e5m2fnuz": gfloat.formats.format_info_p3109(8, 3, domain=gfloat.Domain.Finite),
} | {f.name: p3109(f) for f in FLOATS if f.name.startswith("binary8")}


def by_name(formats: list[FloatFormat]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("format_", formats, ids=lambda f: f.name)


def all_codes(format_: FloatFormat) -> np.ndarray:
    return np.arange(1 << format_.bits, dtype=format_.code_dtype)


def signs_of_numbers(values: np.ndarray) -> np.ndarray:
    return np.signbit(values[~np.isnan(values)])


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
    format_ = custom(bias=10)
    np.testing.assert_array_equal(format_.values, custom().values * 2.0**-7)


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
    runs = binade_runs(format_)
    assert runs[0].low == exponents.min()
    assert runs[-1].high == exponents.max() + 1
    for run in runs:
        for e in range(run.low, min(run.high, exponents.max())):  # the last binade may be cut short
            assert (exponents == e).sum() == 1 << run.bits


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
    result = fates(FORMATS["e4m3"], x)
    assert (result.zero, result.subnormal, result.normal, result.overflow) == (1 / 8, 2 / 8, 3 / 8, 2 / 8)


@pytest.mark.parametrize("format_", FORMATS.values(), ids=FORMATS)
def test_rounding_beyond_is_what_the_encoder_calls_overflow(format_):
    ends = np.array([format_.max, format_.gap_beyond]) @ [[1, 1, 1, 1, 0.1], [0, 0.5, 0.49, 1, 0]]
    x = np.concatenate([ends, np.nextafter(ends, 0), np.nextafter(ends, np.inf), [np.inf, np.nan, 0.0]])
    x = np.concatenate([x, -x]) if format_.signed else x[~np.isnan(x)]
    if Overflow.NAN not in format_.overflows:
        x = x[~np.isnan(x)]
        limit = {1: (format_.max, format_.gap_beyond), -1: (-format_.min, format_.gap_beyond)}
        top, gap = np.vectorize(lambda sign: limit[sign])(np.where(x < 0, -1, 1))
        share = np.divide(np.abs(x) - top, gap)
        even = format_.max_code % 2 == 0
        is_even = np.where((x < 0) & (format_.min != -format_.max), True, even)  # mxint8: -2 is code 0x80
        expected = (share > 0.5) | ((share == 0.5) & ~is_even)
    else:
        codes = format_.encode(x, overflow=Overflow.NAN)
        expected = np.isnan(format_.decode(codes)) & ~np.isnan(x)
    np.testing.assert_array_equal(format_.rounds_beyond(x), expected)
