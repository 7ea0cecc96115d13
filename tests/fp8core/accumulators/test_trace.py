"""Contract: a trace shows what the unit does: its last total is matmul's bit for bit, its parts add up;
errors over K are those of whole matmuls.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from fp8core.accumulators import ACCUMULATORS, GroupScales, Step, matmul, promoted
from fp8core.accumulators.error_over_k import error_against_k, prefix_sums, sums_by_promotion
from fp8core.accumulators.trace import is_traceable, trace
from fp8core.experiments.dot_terms import GONE_AT, LARGE, OFFERED_TERMS, TermKind, draw_terms
from fp8core.formats import FORMATS
from fp8core.tiles import WHOLE

FAST = ACCUMULATORS["hopper_fast"]
TRACEABLE = [a for a in ACCUMULATORS.values() if is_traceable(a)] + [promoted(FAST, 32), promoted(FAST, 64)]
CASES = [(unit, name) for unit in TRACEABLE for name in unit.operands]
by_case = pytest.mark.parametrize(("unit", "name"), CASES, ids=lambda x: getattr(x, "title", x))


def codes(name: str, kind: TermKind, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    a, b = draw_terms(kind, (1, 1), k, seed)
    return FORMATS[name].encode(a)[0], FORMATS[name].encode(b)[0]


@by_case
def test_the_last_total_is_the_one_of_matmul(unit, name) -> None:
    format_ = FORMATS[name]
    for kind, k in product(OFFERED_TERMS, (96, 500)):
        a, b = codes(name, kind, k, seed=k)
        total = np.float32(trace(a, b, format_, format_, unit)[-1].total)
        expected = matmul(a[None], b[None], format_, format_, unit)[0, 0]
        assert total.view(np.uint32) == expected.view(np.uint32), (kind, k, total, expected)


@by_case
def test_a_start_is_added_as_matmul_adds_its_c(unit, name) -> None:
    format_, (a, b) = FORMATS[name], codes(name, TermKind.SAME_SIGN, 256)
    for start in (2.0**5, 2.0**9):
        last = trace(a, b, format_, format_, unit, start)[-1]
        c = np.full((1, 1), start, np.float32)
        assert np.float32(last.total) == matmul(a[None], b[None], format_, format_, unit, c)[0, 0]
        products = [Fraction(float(x)) for x in format_.decode(a) * format_.decode(b)]
        assert last.exact == float(sum(products) + Fraction(start))


@by_case
def test_every_total_is_the_sum_of_the_products_so_far(unit, name) -> None:
    format_ = FORMATS[name]
    a, b = codes(name, TermKind.ZERO_MEAN, 256)
    order = unit.order_of(256)
    run = len(unit.order) or unit.fused_products
    for number, step in enumerate(trace(a, b, format_, format_, unit), 1):
        places = order[: number * unit.fused_products]
        products = [Fraction(float(x)) for x in format_.decode(a[places]) * format_.decode(b[places])]
        assert step.exact == float(sum(products))
        if places.size % run == 0:
            sofar = matmul(a[None, : places.size], b[None, : places.size], format_, format_, unit)
            assert np.float32(step.total) == sofar[0, 0]


@by_case
def test_what_is_kept_and_what_is_lost_add_up_and_lie_on_their_side_of_the_cut(unit, name) -> None:
    a, b = codes(name, TermKind.SAME_SIGN, 256, seed=3)
    for step in trace(a, b, FORMATS[name], FORMATS[name], unit):
        bit = 2.0**step.cut
        np.testing.assert_array_equal(step.kept + step.lost, step.terms)
        np.testing.assert_array_equal(np.fmod(step.kept, bit), 0)
        assert (np.abs(step.lost) < bit).all()
        assert (step.lost * step.terms >= 0).all(), "always toward zero"
        assert step.exact_sum == float(sum(Fraction(float(x)) for x in step.terms))


def test_a_zero_term_takes_part_with_its_own_exponent() -> None:
    bf16, unit = FORMATS["bf16"], ACCUMULATORS["hopper_bf16"]
    x = bf16.encode(np.array([2.0**-80] + [0.0] * 15))
    (step,) = trace(x, x, bf16, bf16, unit)
    assert step.largest == unit.zero_exponent == -133
    assert step.lost[0] == step.terms[0] == 2.0**-160


UNITS = [*ACCUMULATORS.values(), promoted(FAST, 32), promoted(FAST, 96)]
LENGTHS = (32, 64, 160, 256, 512)


def codes_of(name: str, kind: TermKind, k: int) -> tuple[np.ndarray, np.ndarray]:
    return tuple(FORMATS[name].encode(x) for x in draw_terms(kind, (6, 5), k, 0))


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.title)
def test_a_chain_that_goes_on_is_the_matmul_of_the_whole_prefix(unit) -> None:
    name = unit.operands[0]
    a, b = codes_of(name, TermKind.ZERO_MEAN, max(LENGTHS))
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
    a, b = codes_of(name, TermKind.ONE_LARGE, k)
    intervals = (64, 128, 384)
    for every, sums in zip(intervals, sums_by_promotion(a, b, FORMATS[name], unit, intervals), strict=True):
        (expected,) = prefix_sums(a, b, FORMATS[name], promoted(unit, every), (k,))
        np.testing.assert_array_equal(sums.view(np.uint32), expected.view(np.uint32), err_msg=f"{every}")


def test_errors_are_those_of_exact_fractions() -> None:
    a, b = codes_of("e4m3", TermKind.ZERO_MEAN, 64)
    e4m3 = FORMATS["e4m3"]
    (sums,) = error_against_k(a, b, e4m3, FAST, (64,))
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
    assert sums.rms == pytest.approx(float(error / square) ** 0.5, rel=1e-12)
    assert sums.bias == pytest.approx(float(signed / size), rel=1e-12)


def test_terms_are_what_their_rule_says() -> None:
    assert all((x >= 0).all() for x in draw_terms(TermKind.SAME_SIGN, (4, 4), 200, 0))
    a, b = draw_terms(TermKind.CANCELED, (4, 4), 200, 0)
    assert (a[:, 0] * b[:, 0] == LARGE**2).all()
    assert (a[:, GONE_AT] * b[:, GONE_AT] == -(LARGE**2)).all()
    a, b = draw_terms(TermKind.CANCELED, (4, 4), 20, 0)
    assert a.shape == b.shape == (4, 20)
