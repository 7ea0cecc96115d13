"""Section "Now or delayed": overflows are counted, a step has its history, and a pasted series is read."""

import pytest

from fp8core.experiments.amax_series import OFFERED_SERIES, RECORDED_SERIES
from fp8core.experiments.delayed_scaling import AmaxChoice
from pages.kit.inert import plain
from pages.kit.lesson.facts import fact
from pages.scaling.charts.delayed import EVERY, NAMES, ROOM, STEPS
from pages.scaling.delayed import LONGEST, MOST, PASTED, delayed_spec, parse_series
from tests.pages.specs import dataset, rows
from tests.pages.texts import notice, texts

PAGE = "pages/scaling.py"
SOME_SERIES = [kind.value for kind in OFFERED_SERIES if kind not in RECORDED_SERIES]
SOME_SERIES += [OFFERED_SERIES[-1].value, PASTED]
SERIES = (1.0, 1.0, 8.0, 1.0, 0.25, 2.0)
MINE = {"scaling": "delayed", "scaling_series": "pasted"}


def spec(series=SERIES, choice=AmaxChoice.MAX):
    return delayed_spec(series, 2, 0, choice, "light")


@pytest.mark.parametrize("kind", SOME_SERIES)
@pytest.mark.parametrize("choice", AmaxChoice)
def test_every_series_and_choice_answers(open_app, kind, choice):
    at = open_app(PAGE, scaling="delayed", scaling_series=kind, scaling_amax=choice.name.lower())
    assert "The step's own amax" in notice(at) or "the step's own amax none does" in notice(at)
    assert len(at.get("vega_lite_chart")) == 1


def test_overflows_of_a_pasted_series_are_counted_by_hand(open_app):
    series = "1 1 8,1;1\n4 4"
    at = open_app(PAGE, **MINE, scaling_own=series, scaling_history="2")
    assert "**2 of 6 steps overflow.**" in notice(at)
    unused = (0 + 3 + 3 + 0) / 4
    assert f"| 2 of 6 | 8× | {unused:.2f} | 3.00 |" in texts(at)
    settings = MINE | {"scaling_own": series, "scaling_history": 2}
    wanted = {
        "overflows": 2,
        "overflows_share": 1 / 3,
        "current_overflows": 0,
        "unused_bits": 1.5,
        "worst": 8,
    }
    assert {name: fact(f"scaling.{name}", settings) for name in wanted} == pytest.approx(wanted)
    at.number_input(key="scaling_margin").set_value(3).run()
    assert "**none of 6 steps overflows.**" in notice(at)
    assert "**1 of 2 steps overflows.**" in notice(open_app(PAGE, **MINE, scaling_own="1 8 1"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", f"A series needs 2 to {MOST} numbers; 0 came."),
        ("1", "; 1 came."),
        ("1 2 three 4", "Number 3 of 4 is “three”; an amax is needed"),
        ("1 -2", "is “-2”"),
        ("0 1", "Number 1 of 2 is “0”"),
        ("1 nan", "is “nan”"),
        ("1 1e400", "is “1e400”"),
        ("1 `**x**`", f"is “{plain('`**x**`')}”"),
        ("1 " + "9" * 900, "is “" + "9" * 24 + "…”"),
        ("1 " * 900, "; 900 came."),
        ("12.25 " * (LONGEST // 6) + "1234", f"fills all {LONGEST:,} characters of this field"),
    ],
    ids=lambda text: text[:12],
)
def test_a_series_that_is_none_stays_in_its_field_and_is_refused_in_one_sentence(open_app, text, why):
    at = open_app(PAGE, **MINE, scaling_own=text)
    assert not at.exception
    assert len(at.error) == 1
    assert why in at.error[0].value
    assert at.text_area(key="scaling_own").value == text
    at.text_area(key="scaling_own").set_value("1 2 3").run()
    assert not at.error
    assert "of 2 steps" in notice(at)


def test_a_series_copied_from_a_web_page_or_a_table_is_read():
    pasted = "\ufeff1\u00a02\u20090.5\u202f4\t5;6，3e−2\u200b7\u3000\r\n8"
    assert parse_series(pasted) == (1, 2, 0.5, 4, 5, 6, 0.03, 7, 8)
    longest = " ".join([f"{1 / 3:.17f}"] * MOST)
    assert len(longest) < LONGEST
    assert parse_series(longest) == (float(f"{1 / 3:.17f}"),) * MOST


def test_a_step_is_drawn_with_the_history_of_its_scale():
    steps = dataset(spec(), STEPS)
    assert steps["step"] == [1, 2, 3, 4, 5]
    assert steps["overflows"] == [False, True, False, False, True]
    assert list(zip(steps["first"], steps["last"], strict=True)) == [(0, 0), (0, 1), (1, 2), (2, 3), (3, 4)]
    assert steps["holds"][3] == 3.0
    assert (steps["bits"][1], steps["bits"][3]) == (-3.0, 5.0)
    assert dataset(spec(), EVERY) == {"step": [0, 1, 2, 3, 4, 5], "amax": [0, 0, 3, 0, -2, 1]}
    recent = dataset(spec(choice=AmaxChoice.MOST_RECENT), STEPS)
    assert (recent["first"][3], recent["last"][3]) == (3, 3)


def test_the_picture_opens_at_the_largest_overflow_or_at_the_last_step():
    assert [one["params"][0]["value"] for one in (spec(), spec((4.0, 2.0, 1.0)))] == [2, 2]
    assert spec((4.0, 2.0, 1.0, 1.0))["params"][0]["value"] == 3


def test_a_line_has_its_name_above_the_widest_gap_or_below_its_lowest_point():
    holds, amax = rows(spec(), NAMES)
    assert holds == {"step": 4, "at": 3.0, "words": "the scale holds", "right": True}
    assert amax == {"step": 4, "at": -2.0, "words": "amax", "right": True}


def test_no_step_is_drawn_where_the_labels_of_the_heights_stand():
    ((low, high),) = {
        tuple(layer["encoding"]["x"]["scale"]["domain"])
        for panel in spec()["vconcat"][1:]
        for layer in panel["layer"]
        if "padding" in layer["encoding"].get("x", {}).get("scale", {})
    }
    assert (-0.5 - low) / (high - low) == pytest.approx(ROOM)
    assert high == len(SERIES) - 0.5
