"""The page "Lesson": every chapter with what it takes, where this visitor is, and a view for paper."""

from pages.kit.lesson.library import library
from pages.sections.lesson import paper


def texts(at) -> str:
    assert not at.exception, at.exception[0].value
    return "\n".join(one.value for kind in ("markdown", "caption") for one in at.get(kind))


def resume(at) -> str:
    return at.button(key="lesson_resume").label


def test_every_chapter_is_there_and_the_lesson_goes_on_where_it_was_left(open_app):
    at = open_app("pages/lesson.py")
    lessons = library()
    assert [one.value for one in at.header] == [chapter.title for chapter in lessons.chapters]
    assert f"about {lessons.minutes} minutes in all" in texts(at)
    assert resume(at) == f"Begin with {lessons.chapters[0].title}"
    at.switch_page("pages/scaling.py")
    at.query_params["lesson"] = "scaling.3"
    at.run()
    at.switch_page("pages/lesson.py")
    at.query_params.clear()
    at.run()
    assert resume(at) == "Go on with Scales, step 3"
    assert "0 of 5 predictions made · **you are at step 3**" in texts(at)
    at.button(key="lesson_resume").click().run()
    assert at.query_params["lesson"] == "scaling.3"


def test_paper_has_every_step_with_room_for_an_answer_and_no_truth(open_app, monkeypatch):
    monkeypatch.setattr(paper, "short_link", lambda place: f"class/?lesson={place.key}")
    at = open_app("pages/lesson.py", chapter="scaling", print="true")
    chapter = library().chapter("scaling")
    told = texts(at)
    assert [one.value for one in at.header] == [
        f"{n}. {step.title}" for n, step in enumerate(chapter.steps, 1)
    ]
    assert "- ☐ Hardly any: floats adapt\n" in told
    assert "My answer, 1 times to 1,000,000 times:" in told
    assert "class/?lesson=scaling.5" in told
    assert "became zero" not in told
    rooms = [
        one for one in at.get("html") if "answer_line" in one.proto.body and "style" not in one.proto.body
    ]
    assert len(rooms) == sum(step.predict is not None for step in chapter.steps)
