"""The page "Lesson": every chapter with what it takes, where this visitor is, and a view for paper."""

from msgspec.structs import replace

from pages.kit.classroom.store import CLASS_FILE, store
from pages.kit.lesson.library import Place, library
from pages.kit.lesson.pictures import PICTURES, picture_of


def texts(at) -> str:
    assert not at.exception, at.exception[0].value
    return "\n".join(one.value for kind in ("markdown", "caption") for one in at.get(kind))


def rows(at) -> list:
    """The links of the page's own: each opens a step."""
    return [link for link in at.main.get("page_link") if link.proto.query_string]


def resume(at) -> str:
    return at.button(key="lesson_resume").label


def test_every_chapter_is_there_and_the_lesson_goes_on_where_it_was_left(open_app):
    at = open_app("pages/lesson.py")
    lessons = library()
    assert [link.proto.label for link in rows(at)] == [chapter.title for chapter in lessons.chapters]
    assert f"about **{lessons.minutes} minutes**" in texts(at)
    assert resume(at) == f"Begin with {lessons.chapters[0].title}"
    starts = [link.proto.query_string.rpartition("lesson=")[2] for link in rows(at)]
    assert starts == [f"{chapter.name}.1" for chapter in lessons.chapters]
    at.switch_page("pages/scaling.py")
    at.query_params["lesson"] = "scaling.3"
    at.run()
    at.switch_page("pages/lesson.py")
    at.query_params.clear()
    at.run()
    assert resume(at) == "Go on with Scales, step 3"
    [mine] = [one.proto.body for one in at.get("html") if "you are at step 3" in one.proto.body]
    assert 'aria-label="0 of 5 predictions made"' in mine
    at.button(key="lesson_resume").click().run()
    assert at.query_params["lesson"] == "scaling.3"


def test_a_chosen_chapter_shows_its_steps_and_begins_with_its_first(open_app):
    at = open_app("pages/lesson.py", chapter="scaling")
    steps = library().chapter("scaling").steps
    assert [link.proto.label for link in rows(at)] == [f"{n}. {s.title}" for n, s in enumerate(steps, 1)]
    assert resume(at) == "Begin with Scales"


def test_paper_has_every_step_with_room_for_an_answer_and_the_answers_on_a_second_sheet(open_app):
    at = open_app("pages/lesson.py", chapter="scaling", print="true", link="http://class.example/fp8/")
    chapter = library().chapter("scaling")
    words = texts(at)
    assert [one.value for one in at.header] == [
        f"{n}. {step.title}" for n, step in enumerate(chapter.steps, 1)
    ]
    assert "- ☐ Hardly any: floats adapt\n" in words
    assert "My answer, 1 time to 1,000,000 times:" in words
    assert "class.example/fp8/?lesson=scaling.5" in words.replace("\\", "")
    assert [one.value for one in at.title] == ["Scales", "Answers"]
    questions = sum(step.predict is not None for step in chapter.steps)
    assert len(html_with(at, "answer_line")) == questions
    assert len(html_with(at, "QR code of http://class.example/fp8/?lesson=scaling.1")) == 1
    assert len(html_with(at, "paper-picture")) == len(chapter.steps)
    _, _, answers = words.partition("**Scales 1.**")
    assert "became zero" in answers
    assert answers.count("**Scales ") == questions - 1


def html_with(at, words: str) -> list:
    bodies = [one.proto.body for one in at.get("html")]
    return [body for body in bodies if words in body and "<style>" not in body]


def test_paper_tells_a_class_no_answer_before_its_teacher_does(open_app, monkeypatch, tmp_path):
    monkeypatch.setenv(CLASS_FILE, str(tmp_path / "class.sqlite"))
    store().open(True)
    address = {"chapter": "scaling", "print": "true"}
    assert [one.value for one in open_app("pages/lesson.py", **address).title] == ["Scales"]
    store().reveal("scaling.1", 1)
    assert "**Scales 1.**" in (words := texts(open_app("pages/lesson.py", **address)))
    assert "**Scales 2.**" not in words
    store().close()


def test_each_step_has_a_picture_of_its_settings_unless_this_machine_measures_it():
    places = [place for place in library().places if place.step.page in {"live_gemm", "sanity_check"}]
    without = [place for place in library().places if picture_of(place) is None]
    assert [place.key for place in without] == [place.key for place in places]
    assert {path.stem for path in PICTURES.glob("*.png")} == {
        place.key for place in library().places if place not in places
    }


def test_a_picture_of_other_settings_is_not_shown():
    place = library().place("scaling.2")
    chapter = replace(place.chapter, steps=[replace(step, set={}) for step in place.chapter.steps])
    assert picture_of(Place(chapter, 2)) is None
