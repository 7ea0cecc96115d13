"""Contract: a trace shows what the unit does: its last total is matmul's bit for bit, its parts add up."""

from fractions import Fraction

import numpy as np
import pytest

from fp8core.accumulators import ACCUMULATORS, matmul, promoted
from fp8core.accumulators.trace import is_traceable, trace
from fp8core.experiments.dot_terms import OFFERED_TERMS, TermKind, draw_terms
from fp8core.formats import FORMATS

FAST = ACCUMULATORS["hopper_fast"]
TRACEABLE = [a for a in ACCUMULATORS.values() if is_traceable(a)] + [promoted(FAST, 32), promoted(FAST, 64)]
CASES = [(unit, name) for unit in TRACEABLE for name in unit.operands]
by_case = pytest.mark.parametrize(("unit", "name"), CASES, ids=lambda x: getattr(x, "title", x))


def codes(name: str, kind: TermKind, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    a, b = draw_terms(kind, (1, 1), k, seed)
    return FORMATS[name].encode(a)[0], FORMATS[name].encode(b)[0]


@pytest.mark.parametrize("kind", OFFERED_TERMS, ids=lambda kind: kind.value)
@by_case
def test_the_last_total_is_the_one_of_matmul(unit, name, kind) -> None:
    format_ = FORMATS[name]
    for k in (32, 96, 256, 500):
        a, b = codes(name, kind, k, seed=k)
        total = np.float32(trace(a, b, format_, format_, unit)[-1].total)
        expected = matmul(a[None], b[None], format_, format_, unit)[0, 0]
        assert total.view(np.uint32) == expected.view(np.uint32), (k, total, expected)


@by_case
def test_every_total_is_the_sum_of_the_products_so_far(unit, name) -> None:
    format_ = FORMATS[name]
    a, b = codes(name, TermKind.ZERO_MEAN, 256)
    order = unit.order_of(256)
    run = len(unit.order) or unit.fused_products
    for number, step in enumerate(trace(a, b, format_, format_, unit), 1):
        done = order[: number * unit.fused_products]
        products = [Fraction(float(x)) for x in format_.decode(a[done]) * format_.decode(b[done])]
        assert step.exact == float(sum(products))
        if done.size % run == 0:
            sofar = matmul(a[None, : done.size], b[None, : done.size], format_, format_, unit)
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
        assert step.largest == step.exponents.max()
        assert step.exact_sum == float(sum(Fraction(float(x)) for x in step.terms))


def test_a_zero_term_takes_part_with_its_own_exponent() -> None:
    bf16, unit = FORMATS["bf16"], ACCUMULATORS["hopper_bf16"]
    x = bf16.encode(np.array([2.0**-80] + [0.0] * 15))
    (step,) = trace(x, x, bf16, bf16, unit)
    assert step.largest == unit.zero_exponent == -133
    assert step.lost[0] == step.terms[0] == 2.0**-160
