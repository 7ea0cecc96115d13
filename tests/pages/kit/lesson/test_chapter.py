"""Answers: a choice is right or wrong, a number is near enough or not."""

import pytest

from pages.kit.lesson.chapter import Kind, Option, Prediction


def asked(kind: Kind, **fields) -> Prediction:
    return Prediction(ask="?", kind=kind, truth="a.b", reveal="!", **fields)


@pytest.mark.parametrize(
    ("fields", "truth", "right", "wrong"),
    [
        ({"close": 2.0}, 10, ["8", "10", "12.0"], ["7.9", "12.1", "ten", "nan", ""]),
        ({"close_factor": 4.0}, 1024.0, ["256", "4096"], ["255", "4097", "-1024", "0"]),
        ({"close_factor": 4.0}, 0, ["0"], ["1"]),
        ({"close_factor": 2.0}, -8.0, ["-4", "-16"], ["8", "-17"]),
    ],
    ids=["difference", "factor", "factor of zero", "factor below zero"],
)
def test_a_number_is_right_when_it_is_near(fields, truth, right, wrong):
    predict = asked(Kind.AXIS, **fields)
    assert [answer for answer in [*right, *wrong] if predict.is_right(answer, truth)] == right


def test_a_choice_is_right_where_its_option_holds():
    number = asked(Kind.CHOICE, options=(Option(say="few", high=0.5), Option(say="many", low=0.5)))
    assert [number.is_right(say, 0.5) for say in ("few", "many", "some")] == [False, True, False]
    word = asked(
        Kind.CHOICE, options=(Option(say="too large", word="overflow"), Option(say="0", word="zero"))
    )
    assert [word.is_right(say, "overflow") for say in ("too large", "0")] == [True, False]
