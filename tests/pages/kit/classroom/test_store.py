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
def kept(path):
    made = Store(path)
    yield made
    made.close()


def test_the_first_answer_stays_and_the_last_place(kept):
    for place, answer in (("scaling.1", "few"), ("scaling.2", "many")):
        kept.save_place(ANN, place)
        kept.save_answer(ANN, "scaling.2", answer, answer == "many")
    assert kept.place_of(ANN) == "scaling.2"
    assert kept.answer_of(ANN, "scaling.2") == "few"
    assert [one.is_right for one in kept.answers()] == [False]
    assert (kept.place_of(BEN), kept.answer_of(BEN, "scaling.2"), kept.answers_to("x.1")) == (None, None, ())


def test_answers_come_in_the_order_of_time_and_students_are_numbers(kept):
    for visitor in (BEN, ANN):
        kept.save_answer(visitor, "scaling.2", visitor[0], True)
    assert kept.answers_to("scaling.2") == ("b", "a")
    assert kept.students() == {BEN: 1, ANN: 2}
    assert [one.student for one in kept.answers()] == [1, 2]
    assert ANN not in repr(kept.answers())


def test_a_restarted_server_and_a_second_one_read_what_the_first_wrote(path, kept):
    kept.save_place(ANN, "scaling.2")
    kept.open(True)
    kept.save_answer(ANN, "scaling.2", "few", True)
    kept.vote_again("scaling.2", 1)
    kept.follow_plan("45")
    second = Store(path)
    assert (second.place_of(ANN), second.answer_of(ANN, "scaling.2")) == ("scaling.2", "few")
    assert (second.round_of("scaling.2"), second.plan) == (Round(2), "45")
    second.save_answer(BEN, "scaling.2", "many", False, 2)
    second.reveal("scaling.2", 2)
    second.close()
    assert (kept.answers_to("scaling.2"), kept.answers_to("scaling.2", 2)) == (("few",), ("many",))
    assert kept.round_of("scaling.2") == Round(2, True)


def test_a_reset_forgets_everything(kept):
    kept.save_place(ANN, "scaling.2")
    kept.save_answer(ANN, "scaling.2", "few", True)
    kept.open(True)
    kept.reveal("scaling.2", 1)
    kept.reset()
    assert (kept.places(), kept.answers(), kept.students()) == ({}, (), {})
    assert kept.round_of("scaling.2") == Round()


def test_a_class_begins_with_nobody_in_it_and_goes_on_until_it_ends_or_the_day_does(path):
    now = [0.0]
    kept = Store(path, lambda: now[0])
    kept.save_place(ANN, "scaling.1")
    kept.save_answer(ANN, "scaling.2", "alone", True)
    kept.open(True)
    assert (kept.students(), kept.answers_to("scaling.2"), kept.answer_of(ANN, "scaling.2")) == ({}, (), None)
    kept.save_answer(BEN, "scaling.2", "few", True)
    kept.open(True)
    assert kept.students() == {BEN: 1}, "a second teacher, or a server that came back"
    kept.open(False)
    assert kept.answer_of(ANN, "scaling.2") == "alone"
    assert (kept.round_of("scaling.2"), kept.answer_of(BEN, "scaling.2")) == (None, "few")
    kept.open(True)
    assert kept.students() == {}
    kept.save_answer(ANN, "scaling.2", "many", False)
    now[0] += FORGOTTEN_S + 1
    kept.open(True)
    assert kept.students() == {}
    assert [(one.class_number, one.answer) for one in kept.answers()] == [
        (0, "alone"), (1, "few"), (2, "many"),
    ]  # fmt: skip
    kept.close()


def test_what_the_class_sees_first_counts(kept):
    """A student locks while the teacher reveals; two teachers press at once; an answer comes a round late."""
    kept.open(True)
    kept.save_answer(ANN, "scaling.2", "few", False)
    for _ in "two teachers":
        kept.vote_again("scaling.2", 1)
    kept.reveal("scaling.2", 1)
    assert kept.round_of("scaling.2") == Round(2), "a teacher who sees the first round reveals no second one"
    kept.save_answer(BEN, "scaling.2", "a round late", False, 1)
    kept.save_answer(ANN, "scaling.2", "many", True, 2)
    kept.reveal("scaling.2", 2)
    kept.vote_again("scaling.2", 2)
    kept.save_answer(BEN, "scaling.2", "after the truth", True, 2)
    assert kept.round_of("scaling.2") == Round(2, True)
    assert (kept.answers_to("scaling.2"), kept.answers_to("scaling.2", 2)) == (("few",), ("many",))
    assert (kept.answer_of(ANN, "scaling.2", 1), kept.answer_of(ANN, "scaling.2")) == ("few", "many")
    assert kept.round_of("scaling.1") == Round()


def test_outside_of_a_class_nothing_is_revealed(kept):
    kept.reveal("scaling.2", 1)
    kept.vote_again("scaling.2", 1)
    kept.open(True)
    assert kept.round_of("scaling.2") == Round()


def test_a_file_from_before_there_were_rounds_keeps_its_answers(path):
    old = sqlite3.connect(path)
    old.executescript(
        "CREATE TABLE students (number INTEGER PRIMARY KEY, visitor TEXT NOT NULL UNIQUE);"
        "CREATE TABLE answers (step TEXT, visitor TEXT, answer TEXT, is_right INTEGER, time REAL);"
        "CREATE TABLE flags (name TEXT PRIMARY KEY);"
        f"INSERT INTO students VALUES (7, '{ANN}');"
        f"INSERT INTO answers VALUES ('scaling.2', '{ANN}', 'few', 1, 5.0);"
    )
    old.close()
    for _ in "twice":
        kept = Store(path)
        (one,) = kept.answers()
        assert (one.student, one.answer, one.round, kept.trouble) == (7, "few", 1, None)
        kept.close()


def test_thirty_students_at_once_lose_nothing(kept):
    def answer(number: int) -> None:
        visitor = f"{number:032x}"
        kept.save_place(visitor, "scaling.2")
        kept.save_answer(visitor, "scaling.2", str(number), True)

    with ThreadPoolExecutor(8) as students:
        list(students.map(answer, range(30)))
    assert sorted(map(int, kept.answers_to("scaling.2"))) == list(range(30))
    assert sorted(kept.students().values()) == list(range(1, 31))


def test_invented_visitors_and_long_answers_do_not_fill_the_disk(kept, monkeypatch):
    monkeypatch.setattr(stores, "STUDENTS_MOST", 2)
    for number in range(4):
        kept.save_place(f"{number:032x}", "scaling.2")
    kept.save_answer(f"{0:032x}", "scaling.2", "x" * 10_000, True)
    assert len(kept.students()) == len(kept.places()) == 2
    assert len(kept.answers_to("scaling.2")[0]) == stores.ANSWER_LONGEST


@pytest.mark.parametrize("harm", ["no folder", "a folder", "other bytes", "a damaged page"])
def test_a_file_that_cannot_be_used_is_told_and_the_lesson_goes_on(path, harm):
    if harm == "a folder":
        path.mkdir()
    elif harm == "other bytes":
        path.write_bytes(b"not a database" * 1000)
    elif harm == "a damaged page":
        Store(path).close()
        path.write_bytes(path.read_bytes()[:4096] + b"\xff" * (path.stat().st_size - 4096))
    made = Store(path / "none" / "file" if harm == "no folder" else path)
    assert "cannot be used" in made.trouble
    assert CLASS_FILE in made.trouble
    assert str(path.parent) not in made.trouble
    made.save_answer(ANN, "scaling.2", "few", True)
    assert made.answer_of(ANN, "scaling.2") == "few"
    made.close()


def test_a_file_that_breaks_later_is_left_with_what_it_still_tells(path, kept):
    kept.save_place(ANN, "scaling.2")
    assert kept.trouble is None
    foreign = sqlite3.connect(path)
    foreign.execute("DROP TABLE votes")
    foreign.close()
    kept.save_answer(ANN, "scaling.2", "few", True)
    assert "no such table" in kept.trouble
    assert (kept.place_of(ANN), kept.answer_of(ANN, "scaling.2")) == ("scaling.2", "few")
