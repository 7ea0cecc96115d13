"""The axis of an answer: from end to end, in even steps."""

from itertools import pairwise

import pytest

from pages.kit.lesson.chapter import Kind, Option, Prediction
from pages.kit.lesson.prediction import POSITIONS, positions, verdict


def axis(low: float, high: float, is_log: bool) -> list[float]:
    question = {"ask": "?", "kind": Kind.AXIS, "truth": "a.b", "reveal": "!", "close": 1.0}
    return positions(Prediction(**question, low=low, high=high, is_log=is_log))


@pytest.mark.parametrize("ends", [(0.0, 60.0, False), (1.0, 1e6, True), (1e-6, 1e3, True)], ids=str)
def test_the_positions_of_an_axis_differ_and_reach_both_ends(ends):
    question = axis(*ends)
    assert (question[0], question[-1], len(set(question))) == (ends[0], ends[1], POSITIONS)


def test_positions_are_even_in_the_value_or_in_its_logarithm():
    assert {round(high - low, 9) for low, high in pairwise(axis(0.0, 60.0, False))} == {0.6}
    ratios = [high / low for low, high in pairwise(axis(1.0, 1e6, True))]
    assert max(ratios) / min(ratios) < 1.02


CHOICE = {"kind": Kind.CHOICE, "options": (Option(say="few", high=0.5), Option(say="many", low=0.5))}
AXIS = {"kind": Kind.AXIS, "low": 1.0, "high": 1e6, "unit": "times", "close_factor": 4.0}
RATIO = {"kind": Kind.AXIS, "low": 1.0, "high": 10.0, "unit": "times", "close": 0.7}
NUMBER = {"kind": Kind.NUMBER, "unit": "dB", "close": 2.0}
SAID = [
    (CHOICE, "many", 0.7, "**Right.** You said: many."),
    (CHOICE, "few", 0.7, "**Not quite.** You said: few. The page says: **many**."),
    (CHOICE, "*gone*", 0.7, "**Not quite.** You said: \\*gone\\*. The page says: **many**."),
    (NUMBER, "30", 31.25, "**Near enough.** You said 30 dB; the page computes **31.2 dB**."),
    (NUMBER, "40", 31.25, "You said 40 dB; the page computes **31.2 dB**. That is 8.75 dB too high."),
    (AXIS, "100", 1024.0, "the page computes **1,024 times**. That is too low by a factor of 10."),
    (NUMBER, "31.25", 31.25, "**Right.** You said 31.2 dB; the page computes **31.2 dB**."),
    (RATIO, "1.25", 3.9, "the page computes **3.9 times**. That is too low by 2.65."),
    (AXIS, "1", 1024.0, "You said 1 time; the page computes **1,024 times**."),
    (NUMBER, "[x](http://y)", 31.25, "You said: \\[x\\](http\\:"),
]


@pytest.mark.parametrize(("fields", "answer", "truth", "part"), SAID, ids=[str(n) for n in range(len(SAID))])
def test_an_answer_stands_beside_the_truth(fields, answer, truth, part):
    predict = Prediction(ask="?", truth="a.b", reveal="!", **fields)
    assert part in verdict(predict, answer, truth)
