"""Contract: a published gap agrees where our interval holds it and could have missed it."""

from types import SimpleNamespace

import pytest

from pages.loss.elsewhere import Verdict, agreement, notice, pairs


def ours(percent: float, error: float):
    return SimpleNamespace(gap=SimpleNamespace(percent=percent, error=error))


@pytest.mark.parametrize(
    ("gap", "at_most", "percent", "error", "verdict"),
    [
        (1.5, False, 1.2, 0.5, Verdict.AGREES),
        (0.1, False, 0.2, 0.5, Verdict.UNDECIDED),
        (1.5, False, 2.4, 0.5, Verdict.LARGER),
        (2.5, False, 0.8, 0.5, Verdict.SMALLER),
        (0.25, True, 0.0, 0.1, Verdict.BOUND),
        (0.25, True, 0.0, 0.5, Verdict.UNDECIDED),
        (0.25, True, 0.9, 0.5, Verdict.LARGER),
        (None, False, 0.9, 0.5, Verdict.NO_FIGURE),
    ],
)
def test_an_interval_that_holds_everything_agrees_with_nothing(gap, at_most, percent, error, verdict):
    assert agreement(SimpleNamespace(gap_percent=gap, at_most=at_most), ours(percent, error)) is verdict


def test_published_gaps_are_counted_by_their_verdict():
    assert notice(pairs({"mxfp4": ours(5, 0.3)})) == "Of 2 published gaps, **none agree with ours**."
    some = notice(pairs({"mxfp8": ours(0.1, 0.8), "nvfp4": ours(1.55, 0.2)}))
    assert some == "Of 4 published gaps, **2 agree with ours**. 1 of 4 we cannot decide: too few runs."
