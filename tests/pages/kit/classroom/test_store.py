"""Contract: a class's answers survive a restart, thirty students and a broken file."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from pages.kit.classroom import store as stores
from pages.kit.classroom.store import CLASS_FILE, FORGOTTEN_S, Round, Store

ANN, BEN = "a" * 32, "b" * 32


@pytest.fixture
def path(tmp_path):
    return tmp_path / "class.sqlite"


@pytest.fixture
def classes(path):
    classes = Store(path)
    yield classes
    classes.close()


def test_the_first_answer_stays_and_the_last_place(classes):
    for place, answer in (("scaling.1", "few"), ("scaling.2", "many")):
        classes.save_place(ANN, place)
        classes.save_answer(ANN, "scaling.2", answer, answer == "many")
    assert classes.place_of(ANN) == "scaling.2"
    assert classes.answer_of(ANN, "scaling.2") == "few"
    assert [one.is_right for one in classes.answers()] == [False]
    assert (classes.place_of(BEN), classes.answer_of(BEN, "scaling.2"), classes.answers_to("x.1")) == (
        None,
        None,
        (),
    )


def test_answers_come_in_the_order_of_time_and_students_are_numbers(classes):
    for visitor in (BEN, ANN):
        classes.save_answer(visitor, "scaling.2", visitor[0], True)
    assert classes.answers_to("scaling.2") == ("b", "a")
    assert classes.students() == {BEN: 1, ANN: 2}
    assert [one.student for one in classes.answers()] == [1, 2]
    assert ANN not in repr(classes.answers())


def test_a_restarted_server_and_a_second_one_read_what_the_first_wrote(path, classes):
    classes.save_place(ANN, "scaling.2")
    classes.open(True)
    classes.save_answer(ANN, "scaling.2", "few", True)
    classes.vote_again("scaling.2", 1)
    classes.follow_plan("45")
    second = Store(path)
    assert (second.place_of(ANN), second.answer_of(ANN, "scaling.2")) == ("scaling.2", "few")
    assert (second.round_of("scaling.2"), second.plan) == (Round(2), "45")
    second.save_answer(BEN, "scaling.2", "many", False, 2)
    second.reveal("scaling.2", 2)
    second.close()
    assert (classes.answers_to("scaling.2"), classes.answers_to("scaling.2", 2)) == (("few",), ("many",))
    assert classes.round_of("scaling.2") == Round(2, True)


def test_a_reset_forgets_everything(classes):
    classes.save_place(ANN, "scaling.2")
    classes.save_answer(ANN, "scaling.2", "few", True)
    classes.open(True)
    classes.reveal("scaling.2", 1)
    classes.reset()
    assert (classes.places(), classes.answers(), classes.students()) == ({}, (), {})
    assert classes.round_of("scaling.2") == Round()


def test_a_class_begins_with_nobody_in_it_and_goes_on_until_it_ends_or_the_day_does(path):
    now = [0.0]
    classes = Store(path, lambda: now[0])
    classes.save_place(ANN, "scaling.1")
    classes.save_answer(ANN, "scaling.2", "alone", True)
    classes.open(True)
    assert (classes.students(), classes.answers_to("scaling.2"), classes.answer_of(ANN, "scaling.2")) == (
        {},
        (),
        None,
    )
    classes.save_answer(BEN, "scaling.2", "few", True)
    classes.open(True)
    assert classes.students() == {BEN: 1}, "a second teacher, or a server that came back"
    classes.open(False)
    assert classes.answer_of(ANN, "scaling.2") == "alone"
    assert (classes.round_of("scaling.2"), classes.answer_of(BEN, "scaling.2")) == (None, "few")
    classes.open(True)
    assert classes.students() == {}
    classes.save_answer(ANN, "scaling.2", "many", False)
    now[0] += FORGOTTEN_S + 1
    classes.open(True)
    assert classes.students() == {}
    assert [(one.class_number, one.answer) for one in classes.answers()] == [
        (0, "alone"), (1, "few"), (2, "many"),
    ]  # fmt: skip
    classes.close()


def test_what_the_class_sees_first_counts(classes):
    """A student locks while the teacher reveals; two teachers press at once; an answer comes a round late."""
    classes.open(True)
    classes.save_answer(ANN, "scaling.2", "few", False)
    for _ in "two teachers":
        classes.vote_again("scaling.2", 1)
    classes.reveal("scaling.2", 1)
    assert classes.round_of("scaling.2") == Round(2), (
        "a teacher who sees the first round reveals no second one"
    )
    classes.save_answer(BEN, "scaling.2", "a round late", False, 1)
    classes.save_answer(ANN, "scaling.2", "many", True, 2)
    classes.reveal("scaling.2", 2)
    classes.vote_again("scaling.2", 2)
    classes.save_answer(BEN, "scaling.2", "after the truth", True, 2)
    assert classes.round_of("scaling.2") == Round(2, True)
    assert (classes.answers_to("scaling.2"), classes.answers_to("scaling.2", 2)) == (("few",), ("many",))
    assert (classes.answer_of(ANN, "scaling.2", 1), classes.answer_of(ANN, "scaling.2")) == ("few", "many")
    assert classes.round_of("scaling.1") == Round()


def test_outside_of_a_class_nothing_is_revealed(classes):
    classes.reveal("scaling.2", 1)
    classes.vote_again("scaling.2", 1)
    classes.open(True)
    assert classes.round_of("scaling.2") == Round()


def test_thirty_students_at_once_lose_nothing(classes):
    def answer(number: int) -> None:
        visitor = f"{number:032x}"
        classes.save_place(visitor, "scaling.2")
        classes.save_answer(visitor, "scaling.2", str(number), True)

    with ThreadPoolExecutor(8) as students:
        list(students.map(answer, range(30)))
    assert sorted(map(int, classes.answers_to("scaling.2"))) == list(range(30))
    assert sorted(classes.students().values()) == list(range(1, 31))


def test_invented_visitors_and_long_answers_do_not_fill_the_disk(classes, monkeypatch):
    monkeypatch.setattr(stores, "STUDENTS_MOST", 2)
    for number in range(4):
        classes.save_place(f"{number:032x}", "scaling.2")
    classes.save_answer(f"{0:032x}", "scaling.2", "x" * 10_000, True)
    assert len(classes.students()) == len(classes.places()) == 2
    assert len(classes.answers_to("scaling.2")[0]) == stores.ANSWER_LONGEST


@pytest.mark.parametrize("harm", ["no folder", "a folder", "other bytes", "a damaged page"])
def test_a_file_that_cannot_be_used_is_told_and_the_lesson_goes_on(path, harm):
    if harm == "a folder":
        path.mkdir()
    elif harm == "other bytes":
        path.write_bytes(b"not a database" * 1000)
    elif harm == "a damaged page":
        Store(path).close()
        path.write_bytes(path.read_bytes()[:4096] + b"\xff" * (path.stat().st_size - 4096))
    classes = Store(path / "none" / "file" if harm == "no folder" else path)
    assert "cannot be used" in classes.trouble
    assert CLASS_FILE in classes.trouble
    assert str(path.parent) not in classes.trouble
    classes.save_answer(ANN, "scaling.2", "few", True)
    assert classes.answer_of(ANN, "scaling.2") == "few"
    classes.close()


def test_a_file_that_breaks_later_is_left_with_what_it_still_tells(path, classes):
    classes.save_place(ANN, "scaling.2")
    assert classes.trouble is None
    foreign = sqlite3.connect(path)
    foreign.execute("DROP TABLE votes")
    foreign.close()
    classes.save_answer(ANN, "scaling.2", "few", True)
    assert "no such table" in classes.trouble
    assert (classes.place_of(ANN), classes.answer_of(ANN, "scaling.2")) == ("scaling.2", "few")
