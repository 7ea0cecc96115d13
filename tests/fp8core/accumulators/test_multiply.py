"""Contract: special values, sizes of K, scales of groups, promotion, recorded errors, the bound of `matmul`;
what a unit does not multiply is refused.
"""

import numpy as np
import pytest

from fp8core.accumulators import ACCUMULATORS, Step, matmul, promoted
from fp8core.formats import FORMATS
from tests.fp8core.accumulators.operands import by_truncating, by_unit, operands

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
