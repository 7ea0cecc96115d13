"""The lesson's places: found by their key, in order, and nowhere else."""

import os

import pytest

from pages.kit.lesson.chapter import PLANS, Plan
from pages.kit.lesson.library import library
from tests.pages.kit.lesson.chapters import written


@pytest.fixture
def lessons(tmp_path):
    """Two chapters, and one whose page does not exist."""
    written(tmp_path, ('title = "Scales"', 'title = "First"'), name="01_first.toml")
    written(tmp_path, name="02_second.toml")
    written(tmp_path, ('page = "scaling"', 'page = "none"'), name="03_wrong.toml")
    return library(tmp_path)


def test_places_lead_from_the_first_step_to_the_last(lessons):
    keys = ["first.1", "first.2", "first.3", "second.1", "second.2", "second.3"]
    assert [place.key for place in lessons.places] == keys
    place, way = lessons.place("first.1"), []
    while place is not None:
        way.append(place.key)
        place = lessons.moved(place, 1)
    assert way == keys
    assert lessons.moved(lessons.places[0], -1) is None
    assert lessons.place("second.2").words == "Scales · step 2 of 3"


def test_a_chapter_that_does_not_fit_its_pages_is_left_out_and_told(lessons):
    assert [chapter.name for chapter in lessons.chapters] == ["first", "second"]
    assert lessons.complaints == ("03_wrong.toml, step 1, `page`: there is no page 'none'.",)
    assert lessons.minutes == 18


@pytest.mark.parametrize(
    "key",
    ["", "first", "first.0", "first.4", "first.04", "first.²", "First.1", "first.1 ", "wrong.1", "a" * 9999],
    ids=lambda key: repr(key[:12]),
)
def test_no_other_key_is_a_place(lessons, key):
    assert lessons.place(key) is None


def test_the_address_of_a_step_names_what_it_sets(lessons):
    assert lessons.place("first.2").parameters() == {
        "scaling_input": "gaussian",
        "scaling_log2": "1.0",
        "lesson": "first.2",
    }
    locked = lessons.place("first.3").parameters(is_locked=True)
    assert locked == {"scaling_input": "gradient_like", "lesson": "first.3"}


def test_a_file_that_changed_is_read_anew(tmp_path):
    path = written(tmp_path)
    assert library(tmp_path).chapters[0].title == "Scales"
    written(tmp_path, ('title = "Scales"', 'title = "New"'))
    os.utime(path, ns=(1, 1))
    assert library(tmp_path).chapters[0].title == "New"


def test_with_a_plan_the_way_leads_through_its_steps_only(lessons):
    plan = Plan(name="2", minutes=2, steps={"first.1": 1, "second.2": 1})
    first, skipped, last = (lessons.place(key) for key in ("first.1", "second.1", "second.2"))
    assert lessons.moved(first, 1, plan) == lessons.moved(skipped, 1, plan) == last
    assert lessons.moved(last, -1, plan) == first
    assert lessons.moved(last, 1, plan) is None


@pytest.mark.parametrize(
    ("steps", "part"),
    [
        ('"first.1" = 3', "its steps take 3 minutes together, and `minutes` is 2"),
        ('"first.9" = 2', "plan 2: a step is not there, or out of order."),
        ('"second.1" = 1\n"first.1" = 1', "plan 2: a step is not there, or out of order."),
    ],
)
def test_a_plan_that_does_not_hold_is_told(tmp_path, steps, part):
    for name in ("01_first.toml", "02_second.toml"):
        written(tmp_path, name=name)
    (tmp_path / PLANS).write_text(f'[[plans]]\nname = "2"\nminutes = 2\n[plans.steps]\n{steps}\n')
    (complaint,) = library(tmp_path).complaints
    assert part in complaint


def test_the_plans_of_the_lesson_hold():
    assert library().complaints == ()
    assert [plan.minutes for plan in library().plans] == [45, 90]
