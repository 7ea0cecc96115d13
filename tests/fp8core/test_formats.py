"""Contract: every code decodes to what ml_dtypes says; encode is one exact rounding from float64, ties and
overflow included; what does not fit is refused in a sentence.
"""

import gfloat
import gfloat.formats
import numpy as np
import pytest

from fp8core.formats import FORMATS, Format
from fp8core.rounding import Overflow, Rounding

SMALL = [f for f in FORMATS.values() if f.bits <= 16]
ELEMENTS = [FORMATS["e4m3"], FORMATS["e5m2"], FORMATS["fp16"], FORMATS["bf16"]]
GFLOAT = {
    "e4m3": gfloat.formats.format_info_ocp_e4m3,
    "e5m2": gfloat.formats.format_info_ocp_e5m2,
    "fp16": gfloat.formats.format_info_binary16,
    "bf16": gfloat.formats.format_info_bfloat16,
}


def by_name(formats: list[Format]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("format_", formats, ids=lambda f: f.name)


def all_codes(format_: Format) -> np.ndarray:
    return np.arange(1 << format_.bits, dtype=format_.code_dtype)


@by_name(SMALL)
def test_every_code_decodes_as_in_ml_dtypes(format_: Format) -> None:
    with np.errstate(invalid="ignore"):
        theirs = all_codes(format_).view(format_.ml_dtype).astype(np.float64)
    np.testing.assert_array_equal(format_.decode(all_codes(format_)), theirs)
    numbers = ~np.isnan(theirs)
    np.testing.assert_array_equal(np.signbit(format_.values[numbers]), np.signbit(theirs[numbers]))


@by_name(list(FORMATS.values()))
def test_the_named_extremes_are_those_of_ml_dtypes(format_: Format) -> None:
    import ml_dtypes

    finfo = ml_dtypes.finfo(format_.ml_dtype)
    assert format_.max == float(finfo.max)
    assert format_.min_normal == float(finfo.smallest_normal)
    assert format_.min_subnormal == float(finfo.smallest_subnormal)
    assert format_.e_max == np.frexp(format_.max)[1] - 1


@by_name(SMALL)
def test_every_finite_value_encodes_to_its_own_code(format_: Format) -> None:
    codes = all_codes(format_)[np.isfinite(format_.values)]
    np.testing.assert_array_equal(format_.encode(format_.decode(codes)), codes)


@by_name(ELEMENTS)
def test_ties_go_to_the_even_code_and_neighbors_of_a_tie_to_the_nearer(format_: Format) -> None:
    low = np.arange(format_.max_code, dtype=np.int64)
    a, b = (
        format_.decode(low.astype(format_.code_dtype)),
        format_.decode((low + 1).astype(format_.code_dtype)),
    )
    tie = (a + b) / 2
    even = low + (low & 1)
    for sign, bit in ((1, 0), (-1, format_.sign_bit)):
        np.testing.assert_array_equal(format_.encode(sign * tie), even | bit)
        np.testing.assert_array_equal(format_.encode(sign * np.nextafter(tie, 0)), low | bit)
        np.testing.assert_array_equal(format_.encode(sign * np.nextafter(tie, np.inf)), (low + 1) | bit)


@by_name(ELEMENTS)
def test_random_float32_rounds_as_in_ml_dtypes(format_: Format) -> None:
    bits = np.random.default_rng(1).integers(0, 1 << 32, 200_000, dtype=np.uint32)
    x = bits.view(np.float32)
    inside = np.isfinite(x) & (np.abs(x) <= format_.max)
    theirs = x[inside].astype(format_.ml_dtype).view(format_.code_dtype)
    np.testing.assert_array_equal(format_.encode(x[inside]), theirs)


@by_name(ELEMENTS)
@pytest.mark.parametrize(
    ("rounding", "theirs"),
    [
        (Rounding.NEAREST_EVEN, gfloat.RoundMode.TiesToEven),
        (Rounding.NEAREST_AWAY, gfloat.RoundMode.TiesToAway),
        (Rounding.TOWARD_ZERO, gfloat.RoundMode.TowardZero),
    ],
    ids=lambda mode: mode.name,
)
def test_each_rounding_agrees_with_gfloat_from_float64(format_, rounding, theirs) -> None:
    rng = np.random.default_rng(2)
    x = rng.standard_normal(300) * 2.0 ** rng.integers(format_.e_min - 4, format_.e_max - 2, 300)
    ties = format_.decode(np.arange(40, dtype=format_.code_dtype))
    x = np.concatenate([x, (ties[1:] + ties[:-1]) / 2, -(ties[1:] + ties[:-1]) / 2])
    expected = [gfloat.round_float(GFLOAT[format_.name], v, theirs, sat=True) for v in x]
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


def test_zeros_keep_their_sign() -> None:
    assert FORMATS["e4m3"].encode([0.0, -0.0, -1e-30]).tolist() == [0, 0x80, 0x80]


def test_stochastic_rounding_goes_up_exactly_when_fraction_and_noise_reach_one() -> None:
    e4m3 = FORMATS["e4m3"]
    x = np.full(4, 1.0 + 0.25 * e4m3.ulp(1.0))
    codes = e4m3.encode(x, Rounding.STOCHASTIC, noise=np.array([0.0, np.nextafter(0.75, 0), 0.75, 0.999]))
    assert (codes - e4m3.encode(1.0)).tolist() == [0, 0, 1, 1]
    with pytest.raises(ValueError, match="needs noise"):
        e4m3.encode(x, Rounding.STOCHASTIC)


def test_e8m0_has_no_sign_and_no_zero() -> None:
    e8m0 = FORMATS["e8m0"]
    codes = e8m0.encode([2.0**-127, 1.0, 2.0**127, 2.0**128, 0.0, -1.0, np.nan])
    assert codes.tolist() == [0, 127, 254, 254, 0, 255, 255]


@by_name(ELEMENTS)
def test_ulp_is_the_distance_to_the_next_code(format_: Format) -> None:
    codes = np.arange(format_.max_code, dtype=format_.code_dtype)
    gaps = format_.decode(codes + codes.dtype.type(1)) - format_.decode(codes)
    np.testing.assert_array_equal(format_.ulp(format_.decode(codes)), gaps)


def test_codes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="run from 0 to 255, got -1 to 256"):
        FORMATS["e4m3"].decode([-1, 256])
    with pytest.raises(ValueError, match="integers, got float64"):
        FORMATS["e4m3"].decode([1.5])
    with pytest.raises(ValueError, match="table is kept up to 16 bits"):
        _ = FORMATS["fp32"].values


def test_fp32_codes_are_the_bits_of_float32() -> None:
    assert FORMATS["fp32"].decode(FORMATS["fp32"].encode(1.5)) == 1.5
    x = np.random.default_rng(3).integers(0, 0x7F800000, 10_000, dtype=np.uint32).view(np.float32)
    np.testing.assert_array_equal(FORMATS["fp32"].encode(x), x.view(np.uint32))
    np.testing.assert_array_equal(FORMATS["fp32"].decode(x.view(np.uint32)), x.astype(np.float64))
