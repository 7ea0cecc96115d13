"""The axis of an answer: from end to end, in even steps."""

from itertools import pairwise

import pytest

from pages.kit.lesson.chapter import Kind, Prediction
from pages.kit.lesson.prediction import POSITIONS, positions


def axis(low: float, high: float, is_log: bool) -> list[float]:
    asked = {"ask": "?", "kind": Kind.AXIS, "truth": "a.b", "reveal": "!", "close": 1.0}
    return positions(Prediction(**asked, low=low, high=high, is_log=is_log))


@pytest.mark.parametrize("ends", [(0.0, 60.0, False), (1.0, 1e6, True), (1e-6, 1e3, True)], ids=str)
def test_the_positions_of_an_axis_differ_and_reach_both_ends(ends):
    found = axis(*ends)
    assert (found[0], found[-1], len(set(found))) == (ends[0], ends[1], POSITIONS)


def test_positions_are_even_in_the_value_or_in_its_logarithm():
    assert {round(high - low, 9) for low, high in pairwise(axis(0.0, 60.0, False))} == {0.6}
    ratios = [high / low for low, high in pairwise(axis(1.0, 1e6, True))]
    assert max(ratios) / min(ratios) < 1.02
