"""Facts of the page "Scaling" against each other, and against what the formats say."""

import pytest

from pages.kit.lesson.facts import fact

GRADIENTS = {"scaling_input": "gradient_like"}


def test_without_a_scale_is_where_the_slider_stands_at_one():
    for at in (-20, 0):
        settings = GRADIENTS | {"scaling_log2": at}
        unscaled = fact("scaling.unscaled_zeros_share", settings)
        assert unscaled == fact("scaling.zeros_share", GRADIENTS | {"scaling_log2": 0})
        assert (fact("scaling.zeros_share", settings) == unscaled) is (at == 0)


def test_a_smaller_scale_saves_small_numbers_and_loses_large_ones():
    dead, saturated = (
        [fact(f"scaling.{name}", {"scaling_log2": at}) for at in (-20, -12, 0, 6)]
        for name in ("zeros_share", "saturated_share")
    )
    assert dead == sorted(dead)
    assert saturated == sorted(saturated, reverse=True)
    assert dead[-1] > 0 < saturated[0]


def test_the_scale_of_amax_saturates_nothing_and_is_near_the_best_of_all():
    best = max(fact("scaling.sqnr_db", GRADIENTS | {"scaling_log2": at}) for at in range(-24, 8))
    assert fact("scaling.amax_sqnr_db", GRADIENTS) == pytest.approx(best, abs=3)
    assert fact("scaling.amax_zeros_share", GRADIENTS) < fact("scaling.unscaled_zeros_share", GRADIENTS)
    assert fact("scaling.plateau_factor", GRADIENTS) > 2


def test_the_ends_are_those_of_the_format():
    for name, ends in (("e4m3", (448.0, 2.0**-9)), ("e5m2", (57344.0, 2.0**-16))):
        found = tuple(fact(f"scaling.{end}", {"scaling_format": name}) for end in ("largest", "smallest"))
        assert found == ends
