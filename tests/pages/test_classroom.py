"""The page "Class": what a visitor sees, and what the teacher does."""

import pytest

from pages.kit.classroom import shared as shares
from pages.kit.classroom.shared import Shared
from pages.kit.classroom.store import CLASS_FILE, store
from tests.kernels.worker.gates import Gate
from tests.kernels.worker.stand_in import Act, job

PAGE = "pages/classroom.py"


@pytest.fixture(autouse=True)
def class_(monkeypatch, tmp_path) -> Shared:
    monkeypatch.setenv(CLASS_FILE, str(tmp_path / "class.sqlite"))
    made = Shared()
    monkeypatch.setattr(shares, "_SHARED", made)
    yield made
    store().close()


def entered(open_app, class_, token: str | None = None, **parameters: str):
    at = open_app(PAGE, **parameters)
    at.text_input(key="class_token").set_value(class_.token if token is None else token)
    return at.button(key="class_enter").click().run()


def test_a_visitor_is_told_what_a_class_is_and_sees_no_more(open_app):
    at = open_app(PAGE)
    assert "Nothing personal is kept" in at.markdown[0].value
    assert [field.key for field in at.text_input] == ["class_token"]
    assert "lead_start" not in {button.key for button in at.button}
    assert not store().is_open


@pytest.mark.parametrize("told", ["", "wrong", "\ud7ff<script>", "x" * 100])
def test_a_wrong_token_opens_nothing(open_app, class_, told):
    at = entered(open_app, class_, told)
    assert [error.value[:21] for error in at.error] == ["This is not the token"]
    assert not store().is_open
    assert at.text_input(key="class_token").value == ""


def test_the_token_opens_the_class_and_stays_out_of_every_address(open_app, class_):
    at = entered(open_app, class_)
    assert store().is_open
    assert not at.exception
    assert at.button(key="lead_start").label == "Follow me"
    assert class_.token not in f"{at.query_params} {[block.value for block in at.code]}"


def test_a_reset_forgets_the_answers_and_the_end_closes_the_class(open_app, class_):
    store().save_answer("a" * 32, "scaling.2", "few", True)
    at = entered(open_app, class_)
    at.button(key="class_reset").click().run()
    assert store().answers() == ()
    assert store().is_open
    at.button(key="class_end").click().run()
    assert not store().is_open


def test_who_leaves_the_view_needs_the_token_again(open_app, class_):
    at = entered(open_app, class_)
    at.button(key="lead_start").click().run()
    at.button(key="class_leave").click().run()
    assert [field.key for field in at.text_input] == ["class_token"]
    assert class_.led() is None


ANN, BEN = "a" * 32, "b" * 32
STEP = "scaling.2"


def shown(at) -> str:
    return " ".join([block.value for block in at.markdown] + [one.proto.body for one in at.get("html")])


def test_who_is_where_is_counted_and_told_on_demand(open_app, class_):
    for visitor, step in ((ANN, "scaling.1"), (BEN, STEP)):
        store().save_place(visitor, step)
    at = entered(open_app, class_)
    assert "step 2 of" in shown(at)
    assert "Student 2" not in shown(at)
    assert "Student 2" in shown(at.toggle(key="class_names").set_value(True).run())


def test_the_truth_is_hidden_until_the_teacher_reveals_it(open_app, class_):
    store().save_answer(ANN, STEP, "1", False)
    at = entered(open_app, class_, step=STEP)
    assert "1 of 1" in shown(at)
    assert "(the truth)" not in shown(at)
    assert "are right" not in str(at.caption)
    at.button(key="class_truth").click().run()
    assert "(the truth)" in shown(at)
    assert "0 of 1 answers are right." in [caption.value for caption in at.caption]


def test_a_student_sees_the_class_once_it_is_shown_and_answered(open_app, class_):
    teacher = entered(open_app, class_, step="scaling.1")
    student = open_app("pages/scaling.py", lesson="scaling.1")
    teacher.button(key="class_show").click().run()
    assert "What the class says" not in shown(student.run())
    student.radio[0].set_value(student.radio[0].options[0])
    next(button for button in student.button if button.label == "Lock my answer").click().run()
    assert "What the class says" in shown(student)
    teacher.button(key="class_show").click().run()
    assert "What the class says" not in shown(student.run())


def test_the_line_for_the_gpu_is_shown(open_app, class_, stand_in_workers, gates):
    gates.close(Gate.JOB)
    held = job(Act.HELD)
    stand_in_workers.queue.submit(held, "a session")
    at = entered(open_app, class_)
    assert held.title in shown(at)
    assert "somebody" in shown(at)
