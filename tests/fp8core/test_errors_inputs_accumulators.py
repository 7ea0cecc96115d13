"""Contract: errors are their formulas; inputs are seeded and have the shape of statistics they claim; the
accumulator's bound holds for a step-by-step simulation and is not vacuous.
"""

import math

import numpy as np
import pytest

from fp8core.accumulators import ACCUMULATORS, Accumulator
from fp8core.errors import rel_err, sqnr_db
from fp8core.formats import FORMATS
from fp8core.inputs import INPUT_NOTES, OUTLIER_EVERY, OUTLIER_FACTOR, InputKind, draw
from fp8core.tiles import WHOLE


def test_rel_err_and_sqnr() -> None:
    assert rel_err([3.0, 4.0], [3.0, 4.0]) == 0.0
    assert rel_err([3.0, 4.5], [3.0, 4.0]) == pytest.approx(0.1)
    assert rel_err([0.0], [0.0]) == 0.0
    assert rel_err([1.0], [0.0]) == math.inf
    assert sqnr_db(0.1) == pytest.approx(20.0)
    assert sqnr_db(0.0) == math.inf
    with pytest.raises(ValueError, match="one shape"):
        rel_err([1.0], [1.0, 2.0])


@pytest.mark.parametrize("kind", InputKind)
def test_equal_seeds_give_equal_inputs_and_others_do_not(kind) -> None:
    np.testing.assert_array_equal(draw(kind, (8, 200), 3), draw(kind, (8, 200), 3))
    assert (draw(kind, (8, 200), 3) != draw(kind, (8, 200), 4)).any()
    assert draw(kind, (0, 5), 0).shape == (0, 5)
    assert draw(kind, (8, 200), 3).dtype == np.float32
    assert INPUT_NOTES[kind].rule


def test_inputs_have_the_statistics_they_are_named_for() -> None:
    gaussian = draw(InputKind.GAUSSIAN, (500, 500), 0)
    assert gaussian.std() == pytest.approx(1.0, abs=4 / 500)
    columns = draw(InputKind.OUTLIER_CHANNELS, (500, 500), 0).std(axis=0)
    assert (columns > OUTLIER_FACTOR / 2).sum() == len(range(OUTLIER_EVERY // 2, 500, OUTLIER_EVERY))
    tail = draw(InputKind.HEAVY_TAIL, (500, 500), 0)
    assert np.mean(np.abs(tail) > 4.604) == pytest.approx(0.01, abs=4 * math.sqrt(0.01 / 250_000))
    gradient = np.abs(draw(InputKind.GRADIENT_LIKE, (500, 500), 0))
    rows = np.log(gradient.mean(axis=1))
    assert rows.std() == pytest.approx(2.0, rel=0.15)
    assert np.median(gradient) < 1e-5


def simulate(a: np.ndarray, b: np.ndarray, accumulator: Accumulator) -> float:
    """One output by the published algorithm: align to the largest exponent, truncate, add, truncate."""
    size = a.size if accumulator.promotion is WHOLE else accumulator.promotion
    total = np.float32(0)
    for start in range(0, a.size, size):
        c = 0.0
        for step in range(start, min(start + size, a.size), accumulator.fused_products):
            part = slice(step, min(step + accumulator.fused_products, start + size))
            terms = np.append(a[part] * b[part], c)
            largest = np.frexp(np.abs(terms).max())[1] - 1
            unit = 2.0 ** (largest - accumulator.fraction_bits)
            c = float(np.sum(np.trunc(terms / unit)) * unit)
            if c:
                unit = 2.0 ** (np.frexp(abs(c))[1] - 1 - accumulator.fraction_bits)
                c = float(np.trunc(c / unit) * unit)
        total = np.float32(total + np.float32(c))
    return float(total)


@pytest.mark.parametrize("accumulator", ACCUMULATORS.values(), ids=ACCUMULATORS)
def test_the_bound_holds_for_a_simulated_chain_and_is_not_vacuous(accumulator) -> None:
    rng = np.random.default_rng(0)
    e4m3 = FORMATS["e4m3"]
    for signed in (True, False):
        a, b = rng.standard_normal((2, 6, 512)) if signed else rng.uniform(0, 1, (2, 6, 512))
        a, b = e4m3.decode(e4m3.encode(a * 16)), e4m3.decode(e4m3.encode(b * 16))
        bound = accumulator.error_bound(a, b)
        assert bound.shape == (6, 6)
        for m in range(6):
            for n in range(6):
                assert abs(simulate(a[m], b[n], accumulator) - a[m] @ b[n]) <= bound[m, n]
        assert (bound <= 0.2 * np.abs(a) @ np.abs(b).T).all()


def test_promotion_tightens_the_bound() -> None:
    a = np.ones((1, 4096))
    fast, promoted = (ACCUMULATORS[n].error_bound(a, a) for n in ("hopper_fast", "hopper_promoted"))
    assert promoted[0, 0] < fast[0, 0] / 10
