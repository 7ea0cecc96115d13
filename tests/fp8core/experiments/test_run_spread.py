"""Contract: quantiles are those of tables; a gap's interval and the number of runs do what they promise."""

import math

import numpy as np
import pytest

from fp8core.experiments.run_spread import (
    chi_square_quantile,
    factor,
    gap,
    paired_gap,
    pooled_spread,
    runs_needed,
    spread_interval,
    spread_percent,
    student_quantile,
)


@pytest.mark.parametrize(
    ("freedom", "table"), [(1, 12.7062), (2, 4.3027), (3, 3.1824), (10, 2.2281), (100, 1.9840)]
)
def test_quantiles_of_student_are_those_of_the_table(freedom, table) -> None:
    assert student_quantile(0.975, freedom) == pytest.approx(table, abs=1e-4)


@pytest.mark.parametrize(
    ("share", "freedom", "table"),
    [(0.975, 1, 5.0239), (0.025, 3, 0.21580), (0.975, 3, 9.3484), (0.5, 10, 9.3418)],
)
def test_quantiles_of_chi_square_are_those_of_the_table(share, freedom, table) -> None:
    assert chi_square_quantile(share, freedom) == pytest.approx(table, abs=1e-4)


def test_a_gap_is_in_percent_of_the_reference_with_the_runs_of_both_counted() -> None:
    difference = gap([2.02, 2.04], [2.0, 1.99, 2.01, 2.0])
    assert difference.percent == pytest.approx(1.5)
    assert (difference.low, difference.high) == (pytest.approx(1.0), pytest.approx(2.0))
    spread = spread_percent([2.0, 1.99, 2.01, 2.0])
    assert difference.error == pytest.approx(3.1824 * spread * math.sqrt(1 / 2 + 1 / 4), rel=1e-4)
    assert difference.is_clear
    assert not gap([2.0], [2.0, 1.99, 2.01, 2.0]).is_clear


def test_a_pooled_spread_is_around_the_mean_of_each_kind() -> None:
    far, near = [10.0, 12.0], [1.0, 2.0, 3.0]
    pooled, freedom = pooled_spread([far, near, [5.0], []])
    assert freedom == 3
    assert pooled == pytest.approx(((2 + 2) / 3) ** 0.5)
    with pytest.raises(ValueError, match="a kind of 2 runs"):
        pooled_spread([[1.0], [2.0]])


def test_a_gap_of_pairs_errs_less_with_each_pair() -> None:
    one, four = (paired_gap([1.0] * runs, 0.5, 9) for runs in (1, 4))
    assert one.error == pytest.approx(student_quantile(0.975, 9) * 0.5)
    assert four.error == pytest.approx(one.error / 2)
    assert (one.is_clear, four.is_clear) == (False, True)
    with pytest.raises(ValueError, match="got none"):
        paired_gap([], 0.5, 9)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    rng, hits, within = np.random.default_rng(0), 0, 0
    for _ in range(2000):
        reference = rng.normal(2.0, 0.01, 4).tolist()
        hits += not gap([rng.normal(2.0, 0.01)], reference).is_clear
        low, high = spread_interval(float(np.std(reference, ddof=1)), 4)
        within += low <= 0.01 <= high
    assert hits / 2000 == pytest.approx(0.95, abs=0.015)
    assert within / 2000 == pytest.approx(0.95, abs=0.015)


def test_the_runs_needed_are_those_of_the_formula() -> None:
    assert factor() == pytest.approx(15.698, abs=1e-3)
    assert runs_needed(0.06, 0.5) == 1
    assert runs_needed(0.06, 0.1) == math.ceil(15.698 * 0.36)
    assert runs_needed(0.06, 0.05) > 20
