"""Contract: a spreadsheet reads text as text."""

import csv

import pytest

from pages.classroom.answers import HEAD, csv_of, inert
from pages.kit.classroom.store import Answer


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-x", "@SUM(A1)", "\t=1", "\r=1", "-inf"])
def test_a_formula_becomes_text(text):
    assert inert(text) == f"'{text}"


@pytest.mark.parametrize("text", ["-3.5", "+1e5", "few", "", "Under a tenth"])
def test_numbers_and_words_stay(text):
    assert inert(text) == text


def test_a_line_has_class_step_round_answer_right_time_and_student():
    answer = Answer(
        class_number=1, step="scaling.2", round=2, student=3, answer='a, "b"\n=c', is_right=True, time=0.0
    )
    rows = list(csv.reader(csv_of([answer]).decode("utf-8-sig").splitlines(keepends=True)))
    assert rows == [
        list(HEAD),
        ["1", "scaling.2", "2", 'a, "b"\n=c', "yes", "1970-01-01T00:00:00+00:00", "3"],
    ]
