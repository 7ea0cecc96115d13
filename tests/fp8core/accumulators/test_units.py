"""Contract: `matmul` is the published algorithm, term by term (a scalar model in exact fractions), with
its invariances; what a unit does not multiply is refused.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from fp8core.accumulators import ACCUMULATORS, Accumulator, GroupScales, Step, matmul, promoted
from fp8core.formats import FORMATS, FloatFormat
from fp8core.rounding import Rounding
from fp8core.tiles import WHOLE
from tests.cpu import cpu_seconds

E4M3, E5M2 = FORMATS["e4m3"], FORMATS["e5m2"]
FAST, PROMOTED = ACCUMULATORS["hopper_fast"], ACCUMULATORS["hopper_promoted"]
TRUNCATING = [
    a
    for a in ACCUMULATORS.values()
    if a.step is Step.TRUNCATED and a.out_rounding is Rounding.TOWARD_ZERO and not a.order
]
by_truncating = pytest.mark.parametrize("unit", TRUNCATING, ids=lambda a: a.name)
by_unit = pytest.mark.parametrize("unit", ACCUMULATORS.values(), ids=ACCUMULATORS)


def codes(format_: FloatFormat, shape: tuple[int, int], seed: int, spread: int = 4) -> np.ndarray:
    rng = np.random.default_rng(seed)
    size = 2.0 ** rng.integers(-spread, spread + 1, shape)
    return format_.encode(rng.standard_normal(shape) * size)


def operands(
    unit: Accumulator, m: int, n: int, k: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, FloatFormat]:
    format_ = FORMATS[unit.operands[0]]
    return codes(format_, (m, k), seed), codes(format_, (n, k), seed + 1), format_


def ones(unit: Accumulator, m: int, n: int, k: int) -> GroupScales | None:
    if unit.step is not Step.SCALED_GROUPS:
        return None
    return GroupScales(a=np.ones((m, k // 16)), b=np.ones((n, k // 16)), format=E4M3, size=16)


def exponent(x: Fraction, lowest: int) -> int:
    if x == 0:
        return lowest
    e = x.numerator.bit_length() - x.denominator.bit_length() if x > 0 else exponent(-x, -10_000)
    if x > 0 and Fraction(2) ** e > x:
        e -= 1
    return max(e, lowest)


def truncate(x: Fraction, unit: Fraction) -> Fraction:
    return math.trunc(x / unit) * unit


def by_hand(a: np.ndarray, b: np.ndarray, c: float, format_: FloatFormat, unit: Accumulator) -> float:
    """One output element, one step at a time, in fractions."""
    total, chain = Fraction(c), Fraction(0)
    size = unit.promotion
    if size is WHOLE:
        total, chain = Fraction(0), Fraction(c)
    for start in range(0, a.size, unit.fused_products):
        part = slice(start, start + unit.fused_products)
        terms = []
        for x, y in zip(format_.decode(a[part]), format_.decode(b[part]), strict=True):
            fx, fy = Fraction(float(x)), Fraction(float(y))
            e = exponent(fx, format_.e_min) + exponent(fy, format_.e_min)
            terms.append((fx * fy, e if fx * fy else unit.zero_exponent))
        terms.append((chain, exponent(chain, -126) if chain else unit.zero_exponent))
        step = Fraction(2) ** (max(e for _, e in terms) - unit.fraction_bits)
        chain = sum(truncate(term, step) for term, _ in terms)
        chain = truncate(chain, Fraction(2) ** (exponent(chain, -126) - unit.out.mantissa_bits))
        if size is not WHOLE and (start + unit.fused_products) % size == 0:
            total = Fraction(float(np.float32(float(total)) + np.float32(float(chain))))
            chain = Fraction(0)
    return float(total + chain)


@by_truncating
def test_every_truncating_unit_is_the_published_algorithm(unit) -> None:
    k = 2 * unit.fused_products if unit.promotion is WHOLE else 2 * unit.promotion
    a, b, format_ = operands(unit, 4, 5, k)
    c = np.random.default_rng(3).standard_normal((4, 5)).astype(np.float32) * 100
    result = matmul(a, b, format_, format_, unit, c)
    for m in range(4):
        for n in range(5):
            assert float(result[m, n]) == by_hand(a[m], b[n], float(c[m, n]), format_, unit)


def test_terms_below_the_thirteenth_bit_of_the_largest_are_lost_toward_zero() -> None:
    one, tiny = E4M3.encode(1.0), E4M3.encode(2.0**-7)
    a = np.full((1, 32), tiny)
    a[0, 0] = one
    b = np.full((1, 32), tiny)
    b[0, 0] = one
    assert matmul(a, b, E4M3, E4M3, FAST)[0, 0] == 1.0  # 31 terms of 2**-14: none reaches 2**-13
    assert matmul(a, b, E4M3, E4M3, ACCUMULATORS["blackwell_fp8"])[0, 0] == 1 + 31 * 2.0**-14
    assert matmul(a, b, E4M3, E4M3, ACCUMULATORS["fp32"])[0, 0] == 1 + 31 * 2.0**-14


def test_the_running_sum_loses_its_ten_lowest_bits_on_first_use() -> None:
    c = np.array([[1 + 2.0**-23]], np.float32)
    zero = np.zeros((1, 32), np.uint8)
    assert matmul(zero, zero, E4M3, E4M3, FAST, c)[0, 0] == 1.0
    assert matmul(zero, zero, E4M3, E4M3, PROMOTED, c)[0, 0] == c[0, 0]


@by_unit
def test_exact_sums_come_out_exact_in_every_unit(unit) -> None:
    """Small integers need none of the bits that any unit drops."""
    format_ = FORMATS[unit.operands[0]]
    rng = np.random.default_rng(0)
    a, b = (format_.encode(rng.integers(-2, 3, (6, 128)).astype(float)) for _ in range(2))
    result = matmul(a, b, format_, format_, unit, scales=ones(unit, 6, 6, 128))
    np.testing.assert_array_equal(result, format_.decode(a) @ format_.decode(b).T)


@by_unit
def test_the_order_inside_a_step_matters_only_in_a_tree(unit) -> None:
    a, b, format_ = operands(unit, 8, 8, 2 * max(unit.fused_products, 64))
    apart = 2 if unit.step is Step.FLOORED_BY_PARITY else 1
    order = np.arange(a.shape[1]).reshape(-1, unit.fused_products // apart, apart)
    across = np.argsort(np.arange(order.shape[1]) % 2, kind="stable")  # evens first: no pair stays together
    shuffled = order[:, across].ravel()
    scales = ones(unit, 8, 8, a.shape[1])
    result = matmul(a, b, format_, format_, unit, scales=scales)
    other = matmul(a[:, shuffled], b[:, shuffled], format_, format_, unit, scales=scales)
    if unit.step is Step.FLUSHED_PAIRS or unit.order:
        assert (result != other).any()
    else:
        np.testing.assert_array_equal(result, other)


@by_truncating
def test_the_order_of_steps_matters(unit) -> None:
    a, b, format_ = operands(unit, 16, 16, 8 * unit.fused_products)
    back = np.arange(a.shape[1]).reshape(-1, unit.fused_products)[::-1].ravel()
    result = matmul(a, b, format_, format_, unit)
    assert (result != matmul(a[:, back], b[:, back], format_, format_, unit)).any()


@by_truncating
def test_scaling_an_operand_by_a_power_of_two_scales_the_result(unit) -> None:
    format_ = FORMATS[unit.operands[0]]
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 2, (2, 8, 128)) * rng.choice((-1, 1), (2, 8, 128))
    a, b = format_.encode(x[0]), format_.encode(x[1])
    doubled = format_.encode(2 * format_.decode(a))
    np.testing.assert_array_equal(
        matmul(doubled, b, format_, format_, unit), 2 * matmul(a, b, format_, format_, unit)
    )


@by_unit
def test_both_signs_are_treated_alike_except_where_sums_are_rounded_down(unit) -> None:
    a, b, format_ = operands(unit, 8, 8, 128)
    negative = format_.encode(-format_.decode(a))
    scales = ones(unit, 8, 8, 128)
    result = matmul(a, b, format_, format_, unit, scales=scales)
    mirrored = -matmul(negative, b, format_, format_, unit, scales=scales)
    if unit.step in (Step.FLOORED, Step.FLOORED_BY_PARITY):
        np.testing.assert_allclose(mirrored, result, rtol=2.0**-20, atol=2.0**-20 * np.abs(result).max())
    else:
        np.testing.assert_array_equal(mirrored, result)


@by_truncating
def test_a_zero_result_is_plus_zero(unit) -> None:
    format_ = FORMATS[unit.operands[0]]
    a = format_.encode(np.array([[-0.0, 1.0, -1.0] + [0.0] * 61]))
    b = format_.encode(np.array([[1.0, 1.0, 1.0] + [0.0] * 61]))
    assert matmul(a, b, format_, format_, unit).view(np.uint32)[0, 0] == 0


@pytest.mark.parametrize(
    ("x", "y", "c", "expected"),
    [
        (np.inf, 1.0, 0.0, np.inf),
        (-np.inf, 1.0, 0.0, -np.inf),
        (-np.inf, -2.0, 0.0, np.inf),
        (np.inf, 0.0, 0.0, np.nan),
        (np.nan, 0.0, 0.0, np.nan),
        (np.inf, 1.0, -np.inf, np.nan),
        (1.0, 1.0, -np.inf, -np.inf),
        (1.0, 1.0, np.nan, np.nan),
    ],
    ids=str,
)
def test_specials_follow_ieee_with_one_canonical_nan(x, y, c, expected) -> None:
    a, b = np.full((1, 32), E5M2.encode(1.0)), np.full((1, 32), E5M2.encode(1.0))
    finite = E5M2.encode([x, y], overflow=E5M2.overflows[1])
    a[0, 5], b[0, 5] = finite
    result = matmul(a, b, E5M2, E5M2, FAST, np.array([[c]], np.float32))
    np.testing.assert_array_equal(result, [[expected]])
    if np.isnan(expected):
        assert result.view(np.uint32)[0, 0] == 0x7FFFFFFF


@pytest.mark.parametrize("k", [0, 1, 31, 33, 100, 129])
@by_unit
def test_a_k_that_is_no_multiple_of_the_step_is_padded_with_zeros(unit, k) -> None:
    if unit.step is Step.SCALED_GROUPS:
        pytest.skip("scales come for whole groups")
    a, b, format_ = operands(unit, 3, 4, 256)
    padded_a, padded_b = a.copy(), b.copy()
    zero = format_.encode(0.0)
    padded_a[:, k:], padded_b[:, k:] = zero, zero
    np.testing.assert_array_equal(
        matmul(a[:, :k], b[:, :k], format_, format_, unit),
        matmul(padded_a, padded_b, format_, format_, unit),
    )


def test_group_scales_multiply_their_groups() -> None:
    unit, e2m1 = ACCUMULATORS["blackwell_fp4"], FORMATS["e2m1"]
    a, b = codes(e2m1, (5, 128), 0), codes(e2m1, (6, 128), 1)
    rng = np.random.default_rng(2)
    scales = GroupScales(
        a=E4M3.values[rng.integers(0x30, 0x48, (5, 8))],
        b=E4M3.values[rng.integers(0x30, 0x48, (6, 8))],
        format=E4M3,
        size=16,
    )
    exact = (e2m1.decode(a) * np.repeat(scales.a, 16, 1)) @ (e2m1.decode(b) * np.repeat(scales.b, 16, 1)).T
    result = matmul(a, b, e2m1, e2m1, unit, scales=scales)
    # fp32 truncation twice (two steps of 64 products); 35 fraction bits lose nothing at these sizes.
    assert (np.abs(result - exact) <= 2 * 2.0**-23 * np.abs(exact).max()).all()
    with pytest.raises(ValueError, match="needs group scales"):
        matmul(a, b, e2m1, e2m1, unit)
    with pytest.raises(ValueError, match="takes no group scales"):
        matmul(codes(E4M3, (5, 128), 0), codes(E4M3, (6, 128), 0), E4M3, E4M3, FAST, scales=scales)


def test_promotion_starts_each_chain_from_zero_and_adds_in_fp32() -> None:
    a, b = codes(E4M3, (16, 512), 0), codes(E4M3, (16, 512), 1)
    total = np.zeros((16, 16), np.float32)
    for start in range(0, 512, 128):
        part = slice(start, start + 128)
        total = total + matmul(a[:, part], b[:, part], E4M3, E4M3, FAST)
    np.testing.assert_array_equal(matmul(a, b, E4M3, E4M3, PROMOTED), total)
    assert PROMOTED.promotion == 128
    with pytest.raises(ValueError, match="every multiple of 32, got 48"):
        promoted(FAST, 48)


@pytest.mark.parametrize(
    ("unit", "kind", "recorded"),
    [
        (FAST, "normal", {128: 1.2e-4, 512: 3.4e-4, 1024: 5.4e-4, 4096: 1.3e-3}),
        (PROMOTED, "normal", {128: 1.27e-4, 1024: 1.27e-4, 4096: 1.27e-4}),
        (promoted(FAST, 32), "normal", {128: 4.5e-5, 1024: 4.5e-5, 4096: 4.5e-5}),
        (FAST, "same sign", {128: -5.0e-4, 512: -5.2e-3, 1024: -1.3e-2, 4096: -6.6e-2}),
        (PROMOTED, "same sign", {128: -5e-4, 1024: -5e-4, 4096: -5e-4}),
    ],
    ids=lambda value: getattr(value, "title", value) if not isinstance(value, dict) else "",
)
def test_the_recorded_curves_of_error_against_k(unit, kind, recorded) -> None:
    """Relative to the rms of the exact results (normal), or as the mean signed relative error (same sign)."""
    rng = np.random.default_rng(0)
    for k, expected in recorded.items():
        x = rng.standard_normal((2, 48, k)) if kind == "normal" else rng.uniform(0, 1, (2, 48, k))
        a, b = E4M3.encode(x[0]), E4M3.encode(x[1])
        exact = E4M3.decode(a) @ E4M3.decode(b).T
        error = matmul(a, b, E4M3, E4M3, unit) - exact
        if kind == "normal":
            measured = np.sqrt(np.mean(error**2) / np.mean(exact**2))
        else:
            measured = np.mean(error / exact)
        # The recorded figures carry two digits and 2304 outputs here give a few percent of spread.
        assert measured == pytest.approx(expected, rel=0.15), k


def test_a_large_product_takes_less_than_two_seconds_of_the_processor() -> None:
    a, b = codes(E4M3, (128, 4096), 0), codes(E4M3, (128, 4096), 1)
    assert cpu_seconds(lambda: matmul(a, b, E4M3, E4M3, FAST)) < 2.0


@by_truncating
def test_the_bound_holds_and_is_not_vacuous(unit) -> None:
    a, b, format_ = operands(unit, 16, 16, 512)
    exact = format_.decode(a) @ format_.decode(b).T
    bound = unit.error_bound(format_.decode(a), format_.decode(b))
    error = np.abs(matmul(a, b, format_, format_, unit) - exact)
    assert (error <= bound).all()
    assert (bound <= 0.2 * np.abs(format_.decode(a)) @ np.abs(format_.decode(b)).T).all()
    assert PROMOTED.error_bound(np.ones((1, 4096)), np.ones((1, 4096))) < FAST.error_bound(
        np.ones((1, 4096)), np.ones((1, 4096))
    )


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: matmul(np.zeros((2, 3), np.uint8), np.zeros((2, 4), np.uint8), E4M3, E4M3, FAST),
            "one K, got",
        ),
        (
            lambda: matmul(
                np.zeros((2, 3), np.uint8), np.zeros((2, 3), np.uint8), FORMATS["e2m1"], E4M3, FAST
            ),
            "multiplies e4m3, e5m2, got e2m1",
        ),
        (
            lambda: matmul(
                np.zeros((2, 3), np.uint8), np.zeros((2, 3), np.uint8), E4M3, E4M3, FAST, np.zeros((2, 2))
            ),
            r"c is float32\[2, 2\], got float64",
        ),
    ],
    ids=["shapes", "format", "c"],
)
def test_what_does_not_fit_is_refused(call, sentence) -> None:
    with pytest.raises(ValueError, match=sentence):
        call()


def test_an_output_keeps_the_bits_its_format_has() -> None:
    a, b, format_ = operands(FAST, 16, 16, 256)
    bits = matmul(a, b, format_, format_, FAST).view(np.uint32)
    assert (bits & 0x3FF == 0).all()
    assert FAST.out_rounding is Rounding.TOWARD_ZERO
