"""The lesson's places: found by their key, in order, and nowhere else."""

import os

import pytest

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
    place, found = lessons.place("first.1"), []
    while place is not None:
        found.append(place.key)
        place = lessons.moved(place, 1)
    assert found == keys
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
