"""Contract: special values, sizes of K, scales of groups, promotion, recorded errors, the bound of `matmul`;
what a unit does not multiply is refused.
"""

import numpy as np
import pytest

from fp8core.accumulators import ACCUMULATORS, GroupScales, Step, matmul, promoted
from fp8core.formats import FORMATS
from tests.fp8core.accumulators.operands import by_truncating, by_unit, codes, operands

E4M3, E5M2 = FORMATS["e4m3"], FORMATS["e5m2"]
FAST, PROMOTED = ACCUMULATORS["hopper_fast"], ACCUMULATORS["hopper_promoted"]


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
