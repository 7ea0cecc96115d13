"""Contract: `matmul` is the published algorithm, term by term (a scalar model in exact fractions), with its
invariances, special values, sizes of K, recorded errors and bound.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from fp8core.accumulators import ACCUMULATORS, Accumulator, GroupScales, Step, chains, matmul, steps
from fp8core.formats import FORMATS, FloatFormat
from fp8core.formats.table_format import TableFormat
from fp8core.rounding import Rounding
from fp8core.tiles import WHOLE


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
    return GroupScales(a=np.ones((m, k // 16)), b=np.ones((n, k // 16)), format=FORMATS["e4m3"], size=16)


TRUNCATING = [
    a
    for a in ACCUMULATORS.values()
    if a.step is Step.TRUNCATED and a.out_rounding is Rounding.TOWARD_ZERO and not a.order
]
by_truncating = pytest.mark.parametrize("unit", TRUNCATING, ids=lambda a: a.name)
by_unit = pytest.mark.parametrize("unit", ACCUMULATORS.values(), ids=ACCUMULATORS)


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


@by_unit
def test_sums_far_below_one_are_those_of_larger_numbers_scaled_down(unit) -> None:
    format_ = FORMATS[unit.operands[-1]]
    rng = np.random.default_rng(1)
    room = -8 - format_.e_min  # so that every product, its last bit and c stay normal numbers of fp32
    down = 2.0 ** -min(40, max(room, 0))
    x = [rng.uniform(1, 2, (6, 128)) * rng.choice((-1, 1), (6, 128)) for _ in range(2)]
    a, b = (format_.encode(side) for side in x)
    small_a, small_b = (format_.encode(down * format_.decode(side)) for side in (a, b))
    scales = ones(unit, 6, 6, 128)
    result = matmul(a, b, format_, format_, unit, scales=scales)
    small = matmul(small_a, small_b, format_, format_, unit, scales=scales)
    if unit.out.name == "fp32":
        np.testing.assert_array_equal(small, result * np.float32(down) * np.float32(down))
    else:
        assert np.isfinite(small).all()


@pytest.mark.parametrize("size", [-68, -60, 0, 62, None], ids=lambda size: f"size {size}")
@by_unit
def test_working_on_many_steps_at_once_changes_no_bit(unit, size, monkeypatch) -> None:
    """Operands around 2**size, where the format has them: products near the ends of fp32; None: specials."""
    format_, rng = FORMATS[unit.operands[-1]], np.random.default_rng(4)
    a, b = (format_.encode(rng.standard_normal((rows, 192)) * 2.0 ** (size or 0)) for rows in (9, 7))
    c = rng.standard_normal((9, 7)).astype(np.float32)
    if size is None:
        a = np.where(rng.random(a.shape) < 0.01, rng.integers(0, 1 << format_.bits, a.shape), a)
        c[2, 3], c[5, 5], c[0, 0] = np.inf, np.nan, 2.0**-140
    else:
        c *= np.float32(4.0**size)
    scales = ones(unit, 9, 7, 192)

    def bits() -> np.ndarray:
        return matmul(a, b, format_, format_, unit, c, scales).view(np.uint32)

    at_once = bits()
    monkeypatch.setattr(chains, "AT_ONCE", 1)
    np.testing.assert_array_equal(bits(), at_once)
    monkeypatch.setattr(steps, "_stays_normal", lambda *_: False)
    np.testing.assert_array_equal(bits(), at_once)


def test_a_sum_that_float64_cannot_hold_is_rounded_once() -> None:
    """Rounded to float64 first, each of these sums would be a tie, and go to the wrong side."""
    bf16, fp32 = FORMATS["bf16"], FORMATS["fp32"]
    a, b = bf16.encode([[2.0**-24, 2.0**-60]]), bf16.encode([[1.0, 1.0]])
    one = np.ones((1, 1), np.float32)
    assert matmul(a, b, bf16, bf16, ACCUMULATORS["cdna1_bf16"], one)[0, 0] == 1 + 2.0**-23
    a, b = fp32.encode([[2.0**-24 * (1 + 2.0**-15)]]), fp32.encode([[1 - 2.0**-15]])
    start = one + np.float32(2.0**-23)
    assert matmul(a, b, fp32, fp32, ACCUMULATORS["fp32"], start)[0, 0] == 1 + 2.0**-23


E4M3, E5M2 = FORMATS["e4m3"], FORMATS["e5m2"]
FAST, PROMOTED = ACCUMULATORS["hopper_fast"], ACCUMULATORS["hopper_promoted"]


@pytest.mark.parametrize(
    ("x", "y", "c", "expected"),
    [
        (np.inf, 1.0, 0.0, np.inf),
        (-np.inf, 1.0, 0.0, -np.inf),
        (-np.inf, -2.0, 0.0, np.inf),
        (np.inf, 0.0, 0.0, np.nan),
        (0.0, np.inf, 0.0, np.nan),
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


@by_unit
def test_a_k_that_is_no_multiple_of_the_step_is_padded_with_zeros(unit) -> None:
    if unit.step is Step.SCALED_GROUPS:
        pytest.skip("scales come for whole groups")
    a, b, format_ = operands(unit, 3, 4, 256)
    zero = format_.encode(0.0)
    for k in (129, 100, 33, 31, 1, 0):
        short = matmul(a[:, :k], b[:, :k], format_, format_, unit)
        a[:, k:], b[:, k:] = zero, zero
        np.testing.assert_array_equal(short, matmul(a, b, format_, format_, unit), f"K = {k}")


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


@pytest.mark.parametrize("unit", ["fp32", "fp64"])
@pytest.mark.parametrize("name", [name for name, one in FORMATS.items() if isinstance(one, TableFormat)])
def test_products_of_a_table_s_values_are_exact_in_ieee_units(name, unit) -> None:
    form = FORMATS[name]
    codes = np.flatnonzero(np.isfinite(form.values)).astype(form.code_dtype)[:, None]
    values = form.values[codes[:, 0]]
    products = matmul(codes, codes, form, form, ACCUMULATORS[unit])
    assert np.array_equal(products, np.outer(values, values).astype(np.float32))
