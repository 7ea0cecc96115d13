"""Contract: at the ends of the formats a unit does what its source says, and stays within its bound; scales
that do not fit their operands are refused.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from fp8core.accumulators import ACCUMULATORS, Accumulator, GroupScales, Step, matmul
from fp8core.formats import FORMATS, FloatFormat
from fp8core.rounding import Overflow

BF16, FP16, E4M3, E8M0, E2M1 = (FORMATS[name] for name in ("bf16", "fp16", "e4m3", "e8m0", "e2m1"))
FP4, CDNA3 = ACCUMULATORS["blackwell_fp4"], ACCUMULATORS["cdna3_half"]


@pytest.mark.parametrize(
    ("products", "c", "result"),
    [
        ([(2.0**64, 2.0**64)], 0.0, math.inf),  # 2**128
        # exactly 2**127, but one product is infinite
        ([(2.0**64, 2.0**64), (2.0**127, -1.0)], 0.0, math.inf),
        ([(2.0**100, 2.0**100), (2.0**100, -(2.0**100))], 0.0, math.nan),  # infinities of both signs
        ([(-(2.0**64), 2.0**64)], 1.0, -math.inf),
        ([(-(2.0**64), 2.0**64)], math.inf, math.nan),
        ([(2.0**64, 2.0**64)], math.inf, math.inf),
        ([(2.0**64, -(2.0**64)), (math.inf, 1.0)], 0.0, math.nan),
        ([(2.0**127, 1.0), (2.0**127, 1.0)], 0.0, math.inf),  # each product is finite, the sum is not
        ([(2.0**64, 1.5 * 2.0**63), (2.0**127, -1.0)], 0.0, 2.0**126),
        ([(1.984375 * 2.0**63, 1.984375 * 2.0**63)], 0.0, 1.984375**2 * 2.0**126),  # 1.97 · 2**127
    ],
    ids=str,
)
def test_cdna3_makes_each_bf16_product_past_2_to_the_128_infinite(products, c, result) -> None:
    """MMA-Sim, TR-FDPA: a product whose exponent reaches 128 is infinite before anything is added."""
    all_products = products + [(0.0, 0.0)] * (8 - len(products))
    a, b = (BF16.encode([list(x)], overflow=Overflow.INF) for x in zip(*all_products, strict=True))
    start = np.array([[c]], np.float32)
    np.testing.assert_array_equal(matmul(a, b, BF16, BF16, CDNA3, start), [[result]])


def scales(m: int, n: int, groups: int, size: int = 16, format_: FloatFormat = E4M3) -> GroupScales:
    rng = np.random.default_rng(7)
    codes = (
        rng.integers(0x28, 0x48, (m + n, groups))
        if format_ is E4M3
        else rng.integers(120, 134, (m + n, groups))
    )
    values = format_.decode(codes)
    return GroupScales(a=values[:m], b=values[m:], format=format_, size=size)


@pytest.mark.parametrize("format_", [E4M3, E8M0], ids=lambda f: f.name)
@pytest.mark.parametrize("size", [16, 32])
@pytest.mark.parametrize("k", [1, 16, 20, 32, 48, 64, 100, 128])
def test_a_scale_multiplies_its_own_products_whatever_k_is(k, size, format_) -> None:
    rng = np.random.default_rng(k)
    a, b = (E2M1.encode(rng.integers(-2, 3, (3, k)).astype(float)) for _ in range(2))
    group_scales = scales(3, 3, -(-k // size), size, format_)
    left, right = (
        E2M1.decode(codes) * np.repeat(scale, size, 1)[:, :k]
        for codes, scale in ((a, group_scales.a), (b, group_scales.b))
    )
    exact = left @ right.T
    # fp32 keeps 24 bits of each of two steps' sums; 35 fraction bits lose nothing at these sizes.
    slack = 2 * 2.0**-23 * (np.abs(left) @ np.abs(right).T)
    assert (np.abs(matmul(a, b, E2M1, E2M1, FP4, scales=group_scales) - exact) <= slack).all()


def test_the_sums_of_two_groups_under_one_scale_are_cut_apart() -> None:
    """With c = 4 the cut is at 2**(2 - 35). Two groups of 1 · 1 · 2**-34 lie below it each, not together."""
    ones = E2M1.encode([([1.0] + [0.0] * 15) * 2])
    c = np.array([[4.0]], np.float32)
    below = matmul(ones, ones, E2M1, E2M1, FP4, c - 4, scale_of(2.0**-34))[0, 0]
    assert below == 2.0**-33
    unit = replace(FP4, fraction_bits=20)  # fp32 would hide the bits at 35; the rule is the same at 20
    assert matmul(ones, ones, E2M1, E2M1, unit, c, scale_of(2.0**-19))[0, 0] == 4.0
    assert matmul(ones, ones, E2M1, E2M1, unit, c, scale_of(2.0**-18))[0, 0] == 4 + 2.0**-17


def scale_of(value: float) -> GroupScales:
    """One scale for 32 products."""
    return GroupScales(a=np.full((1, 1), value), b=np.ones((1, 1)), format=E8M0, size=32)


def spread(kind: str, format_: FloatFormat, rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Two operands [2, *shape] of random sign and mantissa."""
    low, top = format_.e_min - format_.mantissa_bits, format_.e_max
    ends = {
        "both subnormal": [(low, format_.e_min + 2)] * 2,
        "products around 2**-149": [(max(-80, low), max(-68, format_.e_min + 2))] * 2,
        "subnormal times large": [(low, format_.e_min), (format_.e_min, top)],
        "all of the range": [(low, top)] * 2,
    }[kind]
    sizes = np.stack([np.exp2(rng.uniform(*end, shape)) for end in ends])
    return format_.encode(sizes * rng.choice([-1.0, 1.0, 1.0], sizes.shape))


KINDS = ("both subnormal", "products around 2**-149", "subnormal times large", "all of the range")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "unit", [u for u in ACCUMULATORS.values() if u.step is not Step.SCALED_GROUPS], ids=lambda u: u.name
)
def test_no_sum_leaves_its_bound_at_the_ends_of_the_formats(unit: Accumulator, kind) -> None:
    for name in {"e4m3", "e5m2", "fp16", "bf16", "e4m3fnuz", "fp32"} & set(unit.operands):
        format_ = FORMATS[name]
        k = 2 * max(unit.fused_products, 16)
        a, b = spread(kind, format_, np.random.default_rng(0), (3, k))
        left, right = format_.decode(a), format_.decode(b)
        result = matmul(a, b, format_, format_, unit)
        for formats in ((), (format_, format_)):
            bound = unit.error_bound(left, right, *formats)
            for m, n in np.argwhere(np.isfinite(bound)):
                terms = zip(left[m].tolist(), right[n].tolist(), strict=True)
                exact = sum(Fraction(x) * Fraction(y) for x, y in terms)
                assert abs(Fraction(float(result[m, n])) - exact) <= Fraction(float(bound[m, n])), (
                    name,
                    m,
                    n,
                )


def test_the_bound_of_products_that_underflow_is_what_fp32_loses_by_hand() -> None:
    """One product of 2**-75 · 2**-75 = 2**-150, half of fp32's smallest positive number, comes out as 0."""
    unit = ACCUMULATORS["hopper_bf16"]
    x = np.full((1, 1), 2.0**-75)
    assert matmul(BF16.encode(x), BF16.encode(x), BF16, BF16, unit)[0, 0] == 0
    assert 2.0**-150 <= unit.error_bound(x, x)[0, 0] <= 2.0**-147


def test_the_bound_knows_that_subnormals_are_aligned_as_normal_numbers() -> None:
    """2**-24 · 2**15 is 2**-9, but has exponent -14 + 15 = 1: of the other product, 1.5 · 2**-26,
    every bit lies below 2**(1 - 25).
    """
    unit = ACCUMULATORS["hopper_bf16"]
    a, b = np.array([[2.0**-24, 2.0**-13]]), np.array([[2.0**15, 1.5 * 2.0**-13]])
    loss = 2.0**-9 + 1.5 * 2.0**-26 - matmul(FP16.encode(a), FP16.encode(b), FP16, FP16, unit)[0, 0]
    assert loss == 1.5 * 2.0**-26
    assert loss <= unit.error_bound(a, b, FP16, FP16)[0, 0]
    assert loss <= unit.error_bound(a, b)[0, 0]


def test_a_c_too_small_for_the_products_is_dropped_by_cdna3_s_fp8_and_not_rounded_down() -> None:
    unit = next(each for each in ACCUMULATORS.values() if each.step is Step.FLOORED_BY_PARITY)
    format_ = FORMATS[unit.operands[0]]
    one = format_.encode([[1.0] + [0.0] * (unit.fused_products - 1)])
    c = np.array([[-(2.0**-40)]], np.float32)
    assert matmul(one, one, format_, format_, unit, c)[0, 0] == 1.0


def test_cdna2_adds_neighbors_first() -> None:
    """1 - 1 leaves room for 2**-28; beside 1 alone it would be lost."""
    unit = next(each for each in ACCUMULATORS.values() if each.step is Step.FLUSHED_PAIRS)
    format_ = FORMATS[unit.operands[0]]
    rest = [0.0] * (unit.fused_products - 4)
    a = format_.encode([[1.0, 1.0, 2.0**-14, 0.0, *rest]])
    b = format_.encode([[1.0, -1.0, 2.0**-14, 0.0, *rest]])
    assert matmul(a, b, format_, format_, unit)[0, 0] == 2.0**-28
