"""The page "Class": what a visitor sees, and what the teacher does."""

import pytest

from pages.kit.address import RUN_KEY
from pages.kit.classroom import shared as shares
from pages.kit.classroom.shared import Shared
from pages.kit.classroom.store import CLASS_FILE, store
from pages.kit.lesson.library import library
from pages.kit.lesson.prediction import WAITS
from tests.kernels.worker.gates import Gate
from tests.kernels.worker.stand_in import Act, job
from tests.pages.texts import press

PAGE = "pages/classroom.py"


@pytest.fixture(autouse=True)
def class_(monkeypatch, tmp_path) -> Shared:
    monkeypatch.setenv(CLASS_FILE, str(tmp_path / "class.sqlite"))
    shared = Shared()
    monkeypatch.setattr(shares, "_SHARED", shared)
    yield shared
    store().close()


def entered(open_app, class_, token: str | None = None, **parameters: str):
    at = open_app(PAGE, **parameters)
    at.text_input(key="class_token").set_value(class_.token if token is None else token)
    return at.button(key="class_enter").click().run()


def test_a_visitor_is_told_what_a_class_is_and_sees_no_more(open_app):
    at = open_app(PAGE)
    assert "Nothing personal is kept" in at.markdown[0].value
    assert [field.key for field in at.text_input] == ["class_token", RUN_KEY]
    assert "lead_start" not in {button.key for button in at.button}
    assert not store().is_open


@pytest.mark.parametrize("words", ["", "wrong", "\ud7ff<script>", "x" * 100])
def test_a_wrong_token_opens_nothing(open_app, class_, words):
    at = entered(open_app, class_, words)
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
    store().save_answer(ANN, "scaling.2", "few", True)
    at.button(key="class_end").click().run()
    assert not store().is_open
    assert "**The class is over:** 1 student gave 1 answer to 1 question." in shown(at)
    assert "class_csv" in {button.key for button in at.get("download_button")}
    assert "is over" not in shown(open_app(PAGE)), "only who ended it has its answers"


def test_a_student_elsewhere_has_the_way_to_the_question_of_the_class(open_app, class_):
    entered(open_app, class_, step=STEP)
    student = open_app("pages/formats.py")
    (link,) = [one.proto for one in student.get("page_link") if "Your class" in one.proto.label]
    assert link.page == "scaling"
    assert link.query_string == f"lesson={STEP}"
    student = open_app("pages/scaling.py", lesson=STEP)
    assert not [one for one in student.get("page_link") if "Your class" in one.proto.label]


def test_a_student_follows_the_teacher_until_leaving(open_app, class_):
    """Runs come by themselves in a browser; see tests/browser/test_class.py."""
    teacher = entered(open_app, class_, step=STEP)
    teacher.button(key="lead_start").click().run()
    assert (class_.led().page, class_.led().parameters["lesson"]) == ("scaling", STEP), "the question at once"
    teacher.switch_page("pages/formats.py")
    teacher.query_params.clear()
    teacher.run().text_input(key="number").set_value("0.7").run().run()
    student = open_app("pages/formats.py", number="1")
    assert student.query_params == {"number": "0.7"}
    student.button(key="follow_leave").click().run()
    teacher.text_input(key="number").set_value("0.2").run().run()
    assert student.run().query_params == {"number": "0.7"}
    student.button(key="follow_again").click().run().run()
    assert student.query_params == {"number": "0.2"}


def test_who_leaves_the_view_needs_the_token_again(open_app, class_):
    at = entered(open_app, class_)
    at.button(key="lead_start").click().run()
    at.button(key="class_leave").click().run()
    assert [field.key for field in at.text_input] == ["class_token", RUN_KEY]
    assert class_.led() is None


ANN, BEN = "a" * 32, "b" * 32
STEP = "scaling.2"


def shown(at) -> str:
    return " ".join([block.value for block in at.markdown] + [one.proto.body for one in at.get("html")])


def test_who_is_where_is_counted_and_told_on_demand(open_app, class_):
    at = entered(open_app, class_)
    for visitor, step in ((ANN, "scaling.1"), (BEN, STEP)):
        store().save_place(visitor, step)
    at.run()
    assert "step 2 of" in shown(at)
    assert "Student 2" not in shown(at)
    assert "Student 2" in shown(at.toggle(key="class_names").set_value(True).run())


def test_the_truth_is_hidden_until_the_teacher_reveals_it(open_app, class_):
    at = entered(open_app, class_, step=STEP)
    store().save_answer(ANN, STEP, "1", False)
    at.run()
    assert "**1** of 1 have answered" in shown(at)
    assert "(the truth)" not in shown(at)
    assert "are right" not in str(at.caption)
    at.button(key="class_truth").click().run()
    assert "(the truth)" in shown(at)
    assert "0 of 1 answers are right." in [caption.value for caption in at.caption]
    assert not {"class_truth", "class_again"} & {button.key for button in at.button}


def locked(student, option: int):
    """A student's page once an option is locked."""
    student.radio[0].set_value(student.radio[0].options[option])
    return press(student, "Lock my answer")


def test_a_class_predicts_talks_votes_again_and_sees_the_truth_together(open_app, class_):
    teacher = entered(open_app, class_, step="scaling.1")
    student = locked(open_app("pages/scaling.py", lesson="scaling.1"), 0)
    assert WAITS in shown(student)
    assert "1 of 1 have answered." in [caption.value for caption in student.caption]
    assert student.session_state["scaling_input"] == "gaussian", "nothing that tells the answer is shown"
    teacher.button(key="class_again").click().run()
    assert "**0** of 1 have answered, after talking." in shown(teacher)
    assert any("The class votes again." in box.value for box in student.run().info)
    late = open_app("pages/scaling.py", lesson="scaling.1")
    assert any("The class votes again." in box.value for box in late.info), "who comes late is in this round"
    locked(student, 2)
    assert WAITS in shown(student)
    teacher.run().button(key="class_truth").click().run()
    assert "After talking, 1 of 1 answers are right." in [caption.value for caption in teacher.caption]
    student.run()
    assert "**Right.**" in student.success[0].value
    assert student.session_state["scaling_input"] == "gradient_like", "the page shows the truth"
    assert ["before talking" in shown(student), "What the class says" in shown(student)] == [True, True]
    assert late.run().info[0].value == "The page says: **All, or nearly all**."
    assert [(one.round, one.is_right) for one in store().answers()] == [(1, False), (2, True)]


def test_next_follows_the_plan_that_the_teacher_chose(open_app, class_):
    at = entered(open_app, class_, step=STEP)
    class_.lead(True)
    at.segmented_control(key="class_plan").set_value("45").run()
    plan = library().plan("45")
    links = [link.proto for link in at.main.get("page_link") if "this page" not in link.proto.label]
    keys = [link.query_string.rpartition("lesson=")[2] for link in links]
    assert [key for key in keys if key] == [*plan.steps]
    at.button(key="class_truth").click().run()
    at.button(key="class_next").click().run()
    assert at.query_params["step"] == "tiles.1"
    assert class_.led().parameters["lesson"] == "tiles.1", "the class goes on with the teacher"
    class_.lead(False)
    student = open_app("pages/scaling.py", lesson=STEP)
    student.button(key="lesson_next").click().run()
    assert student.query_params["lesson"] == "tiles.1"
    student.button(key="lesson_back").click().run()
    assert student.query_params["lesson"] == STEP


def test_the_line_for_the_gpu_is_shown(open_app, class_, stand_in_workers, gates):
    gates.close(Gate.JOB)
    own_job = job(Act.HELD)
    stand_in_workers.queue.submit(own_job, "a session")
    at = entered(open_app, class_)
    assert own_job.title in shown(at)
    assert "somebody" in shown(at)
