"""Facts of the page "Scaling" against each other, and against what the formats say."""

import numpy as np
import pytest

from fp8core.formats import FORMATS
from fp8core.scales import E8M0_FLOOR, E8M0_ROUND_UP
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


@pytest.mark.parametrize("element", ["e4m3", "e5m2", "e3m2", "e2m3", "e2m1"])
def test_where_floor_does_not_clip_its_scale_is_that_of_round_up(element):
    amax = np.geomspace(1e-6, 1e6, 4001, dtype=np.float32)
    floor, up = (rule.scale(amax, FORMATS[element]) for rule in (E8M0_FLOOR, E8M0_ROUND_UP))
    clips = amax / floor > FORMATS[element].max
    assert 0 < clips.mean() < 0.5
    np.testing.assert_array_equal(np.where(clips, 2 * floor, floor), up)


def test_half_the_smallest_number_is_lost_and_more_is_not():
    smallest = fact("scaling.smallest", {})
    e4m3 = FORMATS["e4m3"]
    halves = np.array([0.5, 0.51]) * smallest
    assert e4m3.decode(e4m3.encode(halves)).tolist() == [0, smallest]
