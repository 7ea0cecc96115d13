"""Contract: errors over K are those of whole matmuls, a bias below 0 is toward zero, inputs are seeded."""

from fractions import Fraction

import numpy as np
import pytest

from fp8core.accumulators import ACCUMULATORS, GroupScales, Step, matmul, promoted
from fp8core.accumulators.error_over_k import (
    error_against_k,
    prefix_sums,
    sum_error,
    sums_by_promotion,
)
from fp8core.experiments.dot_terms import (
    GONE_AT,
    LARGE,
    TermKind,
    draw_terms,
)
from fp8core.formats import FORMATS
from fp8core.tiles import WHOLE

FAST = ACCUMULATORS["hopper_fast"]
UNITS = [*ACCUMULATORS.values(), promoted(FAST, 32), promoted(FAST, 96)]
LENGTHS = (32, 64, 160, 256, 512)


def codes(name: str, kind: TermKind, k: int) -> tuple[np.ndarray, np.ndarray]:
    return tuple(FORMATS[name].encode(x) for x in draw_terms(kind, (6, 5), k, 0))


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.title)
def test_a_chain_that_goes_on_is_the_matmul_of_the_whole_prefix(unit) -> None:
    name = unit.operands[0]
    a, b = codes(name, TermKind.ZERO_MEAN, max(LENGTHS))
    for k, sums in zip(LENGTHS, prefix_sums(a, b, FORMATS[name], unit, LENGTHS), strict=True):
        scales = None
        if unit.step is Step.SCALED_GROUPS:
            ones = (np.ones((rows, k // 16)) for rows in (6, 5))
            scales = GroupScales(a=next(ones), b=next(ones), format=FORMATS["e4m3"], size=16)
        whole = matmul(a[:, :k], b[:, :k], FORMATS[name], FORMATS[name], unit, scales=scales)
        np.testing.assert_array_equal(sums.view(np.uint32), whole.view(np.uint32), err_msg=f"K {k}")


@pytest.mark.parametrize(
    "unit", [unit for unit in ACCUMULATORS.values() if unit.promotion is WHOLE], ids=lambda unit: unit.title
)
def test_every_interval_of_promotion_gives_what_the_promoted_unit_gives(unit) -> None:
    name, k = unit.operands[0], 384
    a, b = codes(name, TermKind.ONE_LARGE, k)
    intervals = (64, 128, 384)
    for every, sums in zip(intervals, sums_by_promotion(a, b, FORMATS[name], unit, intervals), strict=True):
        (expected,) = prefix_sums(a, b, FORMATS[name], promoted(unit, every), (k,))
        np.testing.assert_array_equal(sums.view(np.uint32), expected.view(np.uint32), err_msg=f"{every}")


def test_errors_are_those_of_exact_fractions() -> None:
    a, b = codes("e4m3", TermKind.ZERO_MEAN, 64)
    e4m3 = FORMATS["e4m3"]
    (found,) = error_against_k(a, b, e4m3, FAST, (64,))
    result = matmul(a, b, e4m3, e4m3, FAST)
    left, right = e4m3.decode(a), e4m3.decode(b)
    error, square, size, signed = Fraction(0), Fraction(0), Fraction(0), Fraction(0)
    for m in range(6):
        for n in range(5):
            truth = sum(
                Fraction(float(x)) * Fraction(float(y)) for x, y in zip(left[m], right[n], strict=True)
            )
            off = Fraction(float(result[m, n])) - truth
            error, square, size = error + off**2, square + truth**2, size + abs(truth)
            signed += off if truth > 0 else -off
    assert found.rms == pytest.approx(float(error / square) ** 0.5, rel=1e-12)
    assert found.bias == pytest.approx(float(signed / size), rel=1e-12)


def test_exact_sums_have_no_error_and_a_sum_of_zeros_has_none_to_tell() -> None:
    exact = np.array([[1.0, -2.0]])
    assert sum_error(exact, exact, 8).rms == 0
    assert sum_error(0.5 * exact, exact, 8).bias == -0.5
    assert sum_error(1.5 * exact, exact, 8).bias == 0.5
    with pytest.raises(ValueError, match="needs one that is not zero"):
        sum_error(exact, 0 * exact, 8)


def test_terms_are_what_their_rule_says() -> None:
    assert all((x >= 0).all() for x in draw_terms(TermKind.SAME_SIGN, (4, 4), 200, 0))
    a, b = draw_terms(TermKind.CANCELED, (4, 4), 200, 0)
    assert (a[:, 0] * b[:, 0] == LARGE**2).all()
    assert (a[:, GONE_AT] * b[:, GONE_AT] == -(LARGE**2)).all()
    a, b = draw_terms(TermKind.CANCELED, (4, 4), 20, 0)
    assert a.shape == b.shape == (4, 20)
