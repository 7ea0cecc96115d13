"""Contract: every answer is counted once, and the truth is marked only where it is given."""

import pytest

from pages.kit.classroom.answers import (
    OTHER,
    RANGES,
    Bar,
    Scale,
    alt_text,
    columns,
    guesses,
    histogram,
    rows,
    scale_of,
)
from pages.kit.lesson.chapter import Kind, Option, Prediction

ASKED = {"ask": "?", "truth": "a.b", "reveal": "."}
CHOICE = Prediction(
    kind=Kind.CHOICE, options=(Option(say="few", high=0.5), Option(say="many", low=0.5)), **ASKED
)


def number(**fields) -> Prediction:
    return Prediction(kind=Kind.NUMBER, close=1.0, **ASKED, **fields)


def test_an_option_counts_its_answers_and_a_lost_one_comes_last():
    bars = histogram(CHOICE, ["many", "few", "many", "an option of yesterday"])
    assert [(bar.words, bar.count) for bar in bars] == [("few", 1), ("many", 2), (OTHER, 1)]
    assert not any(bar.holds for bar in bars)
    assert [bar.holds for bar in histogram(CHOICE, [], 0.7)] == [False, True]


@pytest.mark.parametrize(
    ("fields", "answers"),
    [
        ({"low": 0.0, "high": 1.0}, ["0", "1", "0.5", "-3", "7"]),
        ({"low": 1.0, "high": 1e6, "is_log": True}, ["1", "1000", "1e6"]),
        ({}, ["3", "3"]),
        ({}, ["1e-9", "5", "1e9"]),
        ({"low": 0.0}, ["4"]),
    ],
)
def test_every_number_is_in_one_range(fields, answers):
    bars = histogram(number(**fields), [*answers, "no number", "inf"])
    assert sum(bar.count for bar in bars) == len(answers)
    assert len(bars) == RANGES
    assert len({bar.words for bar in bars}) == RANGES


def test_the_ranges_do_not_tell_the_truth_before_it_is_given():
    question = number()
    assert max(float(bar.words.split(" to ")[1]) for bar in histogram(question, ["1", "2"])) <= 2
    assert [bar.holds for bar in histogram(question, ["1", "2"], 50.0)].count(True) == 1
    assert histogram(question, []) == ()


def test_the_picture_marks_the_truth_in_words():
    bars = histogram(CHOICE, ["few"], 0.7)
    html = rows(bars, [0, 0])
    assert "✓ many" in html
    assert html.count("<i") == html.count("<i class=new>") == 1, "a square for each answer"
    assert alt_text(bars) == "The answers of the class. few: 1; many (the truth): 0."


def test_the_answers_before_talking_lie_pale_behind_those_after_it_on_one_axis():
    question, first, last = number(low=0.0, high=24.0), ["3", "3", "20"], ["20"]
    bars = histogram(question, last, None, first)
    assert {number: (bar.count, bar.first) for number, bar in enumerate(bars) if bar.count or bar.first} == {
        3: (0, 2),
        20: (1, 1),
    }
    html = columns(bars, [bar.count for bar in bars], Scale(0.0, 24.0, False), "", None)
    assert "--most:2" in html, "the layer that is taller fits"
    assert html.count('<u style="--first:') == 2
    assert alt_text(bars) == (
        "The answers of the class. 3 to 4: 0, before talking 2; 20 to 21: 1, before talking 1."
    )
    assert histogram(CHOICE, ["many"], None, ["few", "lost"])[0].first == 1
    assert histogram(CHOICE, ["many"], None, ["few", "lost"])[-1] == Bar(words=OTHER, count=0, first=1)


def test_a_guess_beyond_an_end_is_drawn_at_that_end_with_its_words_inside():
    html = guesses(Scale(1.0, 100.0, True), {"you": 1.0, "the page": 400.0})
    assert '<div class="guess right" style="--at:0.0%"><i></i><b>you</b></div>' in html
    assert '<div class="guess left" style="--at:100.0%"><i></i><b>the page</b></div>' in html


def test_the_truth_is_a_line_at_its_value_and_only_once_it_is_out():
    question, answers = number(low=1.0, high=1e6, is_log=True, unit="times"), ["10", "10", "1000"]
    scale = scale_of(question, answers, 1000.0)
    before, after = (
        columns(bars, [bar.count for bar in bars], scale, "times", truth)
        for truth in (None, 1000.0)
        for bars in [histogram(question, answers, truth)]
    )
    assert "<em" not in before
    assert '<em class="right" style="left:50.0%"><b>1,000 times</b></em>' in after
    assert before.count("<i></i>") == after.count("<i></i>") == len(answers)
    assert "(the truth): 1." in after


@pytest.mark.parametrize(
    ("scale", "ticks"),
    [
        (Scale(0.0, 60.0, False), [0, 10, 20, 30, 40, 50, 60]),
        (Scale(0.0, 1.0, False), [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (Scale(1.0, 1e6, True), [1, 10, 100, 1e3, 1e4, 1e5, 1e6]),
        (Scale(1e-6, 1e3, True), [1e-6, 1e-4, 1e-2, 1, 100]),
        (Scale(2.0, 30.0, True), [2, 30]),
    ],
    ids=str,
)
def test_an_axis_has_few_round_ticks(scale, ticks):
    assert scale.ticks() == pytest.approx(ticks)
    assert [scale.at(value) for value in (scale.low, scale.high, scale.high * 2)] == [0, 1, 1]
