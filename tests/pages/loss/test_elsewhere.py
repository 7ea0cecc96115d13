"""Contract: a published gap agrees where our interval holds it and could have missed it."""

from types import SimpleNamespace

import pytest

from pages.loss.elsewhere import (
    AGREES,
    BOUND,
    LARGER,
    NO_FIGURE,
    OVER,
    SMALLER,
    WIDE,
    agreement,
    more,
    notice,
    order_words,
)
from pages.loss.runs import sourced


def ours(percent: float, error: float):
    return SimpleNamespace(closest=SimpleNamespace(percent=percent, error=error))


@pytest.mark.parametrize(
    ("gap", "at_most", "percent", "error", "found"),
    [
        (1.5, False, 1.2, 0.5, AGREES),
        (0.1, False, 0.2, 0.5, WIDE),
        (1.5, False, 2.4, 0.5, LARGER),
        (2.5, False, 0.8, 0.5, SMALLER),
        (0.25, True, 0.0, 0.1, BOUND),
        (0.25, True, 0.0, 0.5, OVER),
        (0.25, True, 0.9, 0.5, LARGER),
        (None, False, 0.9, 0.5, NO_FIGURE),
    ],
)
def test_an_interval_that_holds_everything_agrees_with_nothing(gap, at_most, percent, error, found):
    assert agreement(SimpleNamespace(gap_percent=gap, at_most=at_most), ours(percent, error)) == found


@pytest.mark.parametrize(
    ("four_over_six", "told"), [(1.0, "3 of them apart, 3 in"), (4.0, "3 of them apart, 2 in"), (2.9, "2 of")]
)
def test_the_order_is_that_of_recipes_which_one_source_trained_alike(four_over_six, told):
    found = {"nvfp4_1x16": ours(3, 0.3), "four_over_six": ours(four_over_six, 0.3), "mxfp4": ours(5, 0.3)}
    assert {"nvfp4_1x16", "four_over_six", "mxfp4"} <= {one.recipes[0] for one in sourced().published}
    assert told in order_words(found)
    assert order_words({"mxfp4": ours(5, 0.3)}) == ""


def test_no_published_gap_is_told_as_none_of_them():
    """“Larger than 0” would be read as a gap above zero."""
    found = {"mxfp4": ours(5, 0.3)}
    assert notice(found) == "Of 2 published gaps, **none agree with ours**."
    assert more(found) == "Ours is larger than 2 of the published gaps, and smaller than none of them."


def test_gaps_that_our_interval_cannot_decide_are_counted():
    found = {"mxfp8": ours(0.1, 0.8), "nvfp4": ours(1.55, 0.2)}
    assert (
        notice(found) == "Of 4 published gaps, **2 agree with ours**. 1 of 4 we cannot decide: too few runs."
    )
