"""Contract: a right answer passes, a common mistake is told what it misses, no file ends in a traceback."""

from pathlib import Path

import pytest

from fp8core.exercises.__main__ import main
from fp8core.exercises.course import EXERCISES, State, results
from fp8core.exercises.exercise import fault
from tests.fp8core.exercises import solutions

BY_NAME = {one.name: one for one in EXERCISES}


@pytest.mark.parametrize("exercise", EXERCISES, ids=BY_NAME)
def test_a_right_answer_passes(exercise):
    assert fault(getattr(solutions, exercise.name), exercise) is None


@pytest.mark.parametrize(("name", "answer", "part"), solutions.MISTAKES.values(), ids=solutions.MISTAKES)
def test_a_mistake_is_told_what_it_misses(name, answer, part):
    message = fault(answer, BY_NAME[name])
    assert message is not None
    assert part in message


def test_the_file_begins_with_nothing_done_and_is_never_overwritten(tmp_path, capsys):
    file = tmp_path / "mine.py"
    assert main(["start", str(file)]) == 0
    assert [result.state for result in results(file)] == [State.TO_DO] * len(EXERCISES)
    file.write_text(file.read_text() + "\n# my work\n")
    assert main(["start", str(file)]) == 2
    assert "no work is lost" in capsys.readouterr().err
    assert file.read_text().endswith("# my work\n")


def test_solutions_in_a_file_are_right_and_one_can_be_asked_for(tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text(Path(solutions.__file__).read_text())
    assert main(["check", str(file)]) == 0
    assert f"{len(EXERCISES)} of {len(EXERCISES)} right." in capsys.readouterr().out
    assert main(["check", str(file), "hadamard16"]) == 0
    assert "1 of 1 right." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("def f(:\n", "line 1: this is no Python yet"),
        ("import nothing_of_this_name\n", "cannot be run: ModuleNotFoundError (line 1)"),
        ("x = '\0'", "mine.py"),
    ],
    ids=["syntax", "import", "null"],
)
def test_a_file_that_cannot_be_run_is_told_in_a_sentence(tmp_path, capsys, text, part):
    file = tmp_path / "mine.py"
    file.write_text(text)
    assert main(["check", str(file)]) == 2
    assert part in capsys.readouterr().err


def test_an_error_in_an_answer_names_its_line_and_the_rest_is_checked(tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text("def decode_e4m3(code):\n    return 1 / 0\n")
    assert main(["check", str(file)]) == 1
    output = capsys.readouterr().out
    assert "It raised ZeroDivisionError (line 2): division by zero" in output
    assert "mine.py defines no function of this name" in output
