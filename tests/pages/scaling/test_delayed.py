"""Section "Now or delayed": overflows are counted, and a step has its history."""

import pytest

from fp8core.experiments.amax_series import OFFERED_SERIES, RECORDED_SERIES
from pages.kit.charts.ink import LIGHT
from pages.kit.lesson.facts import fact
from pages.scaling.charts.delayed import EVERY, STEPS
from pages.scaling.delayed import delayed_spec, opening, strategies
from tests.pages.specs import dataset
from tests.pages.texts import notice

PAGE = "pages/scaling.py"
SOME_SERIES = [kind.value for kind in OFFERED_SERIES if kind not in RECORDED_SERIES]
SOME_SERIES += [OFFERED_SERIES[-1].value]
SERIES = (1.0, 1.0, 8.0, 1.0, 0.25, 2.0)


def spec(series=SERIES, history=2):
    return delayed_spec(series, history, 0, LIGHT)


@pytest.mark.parametrize("kind", SOME_SERIES)
def test_every_series_answers(open_app, kind):
    at = open_app(PAGE, scaling="delayed", scaling_series=kind)
    assert "The step's own amax" in notice(at) or "the step's own amax none does" in notice(at)
    assert len(at.get("vega_lite_chart")) == 1


def test_overflows_are_counted_by_hand():
    current, late = strategies((1.0, 1.0, 8.0, 1.0, 1.0, 4.0, 4.0), 2, 0)
    assert (late.steps, late.overflows, late.worst) == (6, 2, 8)
    assert (late.unused_bits, late.most_unused_bits) == ((0 + 3 + 3 + 0) / 4, 3)
    assert current.overflows == 0
    assert strategies((1.0, 1.0, 8.0, 1.0, 1.0, 4.0, 4.0), 2, 3)[1].overflows == 0


def test_facts_are_those_of_the_sentences(open_app):
    settings = {"scaling": "delayed", "scaling_series": "spikes", "scaling_history": 4}
    at = open_app(PAGE, **{key: str(value) for key, value in settings.items()})
    overflows = fact("scaling.overflows", settings)
    assert f"**{overflows} of 159 steps overflow.**" in notice(at)
    assert fact("scaling.overflows_share", settings) == overflows / 159 > 0
    assert fact("scaling.current_overflows", settings) == 0


def test_a_step_is_drawn_with_the_history_of_its_scale():
    steps = dataset(spec(), STEPS)
    assert steps["step"] == [1, 2, 3, 4, 5]
    assert steps["overflows"] == [False, True, False, False, True]
    assert list(zip(steps["first"], steps["last"], strict=True)) == [(0, 0), (0, 1), (1, 2), (2, 3), (3, 4)]
    assert steps["holds"][3] == 3.0
    assert (steps["bits"][1], steps["bits"][3]) == (-3.0, 5.0)
    assert dataset(spec(), EVERY) == {"step": [0, 1, 2, 3, 4, 5], "amax": [0, 0, 3, 0, -2, 1]}
    recent = dataset(spec(history=1), STEPS)
    assert (recent["first"][3], recent["last"][3]) == (3, 3)


def test_the_picture_opens_at_the_largest_overflow_or_at_the_last_step():
    assert [opening(series, 2, 0) for series in (SERIES, (4.0, 2.0, 1.0), (4.0, 2.0, 1.0, 1.0))] == [2, 2, 3]
