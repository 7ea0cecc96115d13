"""Answers in words: right, or how far off."""

import pytest

from pages.kit.lesson.answers import verdict
from pages.kit.lesson.chapter import Kind, Option, Prediction

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
    (NUMBER, "[x](http://y)", 31.25, "You said: \\[x\\](http\\:"),
]


@pytest.mark.parametrize(("fields", "answer", "truth", "told"), SAID, ids=[str(n) for n in range(len(SAID))])
def test_an_answer_stands_beside_the_truth(fields, answer, truth, told):
    predict = Prediction(ask="?", truth="a.b", reveal="!", **fields)
    assert told in verdict(predict, answer, truth)
